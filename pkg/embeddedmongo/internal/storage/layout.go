package storage

import (
	"bytes"
	"encoding/binary"
)

// Keys in Pebble. Every collection has a number, every index of a collection another.
//
//	m db 00 coll                              catalog record (BSON)
//	q                                         next collection number
//	d coll(4) id                              document
//	i coll(4) index(2) fields id len(id)(2)   index entry, without a value
//	n coll(4)                                 number of documents (merged)
//	k …                                       a retired form of index, see dropRetired
const (
	tagCatalog  = 'm'
	tagSequence = 'q'
	tagDoc      = 'd'
	tagIndex    = 'i'
	tagCount    = 'n'
	tagRetired  = 'k'
)

// DocHeader and IndexHeader are the lengths of the headers before a document's _id and an index entry's fields, in bytes.
const (
	DocHeader   = 5
	IndexHeader = 7
	maxIDKey    = 1<<16 - 1
)

func catalogKey(db, coll string) []byte {
	b := append([]byte{tagCatalog}, db...)
	b = append(b, 0)
	return append(b, coll...)
}

func tagged(tag byte, coll uint32) []byte {
	b := make([]byte, DocHeader, 64)
	b[0] = tag
	binary.BigEndian.PutUint32(b[1:], coll)
	return b
}

func taggedIndex(tag byte, coll uint32, ix uint16) []byte {
	return binary.BigEndian.AppendUint16(tagged(tag, coll), ix)
}

func indexHeader(tag byte, coll uint32, ix uint16) (h [IndexHeader]byte) {
	h[0] = tag
	binary.BigEndian.PutUint32(h[1:], coll)
	binary.BigEndian.PutUint16(h[DocHeader:], ix)
	return h
}

// EntryID returns the encoded _id at the end of an index entry's key.
func EntryID(key []byte) []byte {
	n := len(key) - 2
	l := int(binary.BigEndian.Uint16(key[n:]))
	return key[n-l : n]
}

// EntryFields returns the encoded fields of an index entry's key.
func EntryFields(key []byte) []byte {
	n := len(key) - 2
	l := int(binary.BigEndian.Uint16(key[n:]))
	return key[IndexHeader : n-l]
}

func entryKey(header, fields, id []byte) []byte {
	return appendEntryKey(make([]byte, 0, len(header)+len(fields)+len(id)+2), header, fields, id)
}

func appendEntryKey(b, header, fields, id []byte) []byte {
	b = append(append(append(b, header...), fields...), id...)
	return binary.BigEndian.AppendUint16(b, uint16(len(id)))
}

// Successor is the smallest key after all keys with the prefix; nil when there is none.
func Successor(prefix []byte) []byte {
	b := bytes.Clone(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0xff {
			b[i]++
			return b[:i+1]
		}
	}
	return nil
}
