// Package index derives index entries and sort keys from documents.
package index

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// KeySet holds the keys of one document in an index.
type KeySet struct {
	Keys     [][]byte // Sorted, distinct; empty when the document has parallel arrays.
	Multikey uint32   // Bit i: field i got its values through an array.
	AllNull  bool     // No field is present: a sparse index leaves the document out.
	Parallel string   // Two paths through different arrays, if any.

	memory *Memory
	wanted []byte        // The key that KeyValues searches.
	found  []value.Value // Its values.
}

// Memory is reused by derivations of keys. It belongs to one goroutine at a time.
type Memory struct {
	bytes   []byte // Of the keys; earlier keys stay where they are when it grows.
	keys    [][]byte
	cursors []cursor
	parsed  [2]parsed
}

// parsed are the top-level elements of a document.
type parsed struct {
	doc      value.Doc
	elements []element
}

type element struct {
	key []byte
	v   value.Value
}

// Parse finds the top-level elements of the old and the new version of a document, either of which may be nil. Later derivations
// from these two, in the same memory, then need no walk over the document for each field.
func (m *Memory) Parse(before, after value.Doc) {
	for i, d := range [...]value.Doc{before, after} {
		p := &m.parsed[i]
		p.doc, p.elements = d, p.elements[:0]
		for it := d.Iter(); ; {
			k, v, ok := it.Next()
			if !ok {
				break
			}
			p.elements = append(p.elements, element{k, v})
		}
	}
}

// root returns a top-level value of a document.
func (m *Memory) root(d value.Doc, name string) value.Value {
	for i := range m.parsed {
		p := &m.parsed[i]
		if len(d) == 0 || len(p.doc) == 0 || &p.doc[0] != &d[0] {
			continue
		}
		for j := range p.elements {
			if string(p.elements[j].key) == name {
				return p.elements[j].v
			}
		}
		return value.Value{}
	}
	return d.Get(name)
}

// Reset makes the memory available again: keys that were derived in it are lost.
func (m *Memory) Reset() {
	clear(m.keys)
	clear(m.cursors[:cap(m.cursors)])
	for i := range m.parsed {
		p := &m.parsed[i]
		clear(p.elements)
		*p = parsed{elements: p.elements[:0]}
	}
	*m = Memory{bytes: m.bytes[:0], keys: m.keys[:0], cursors: m.cursors[:0], parsed: m.parsed}
	if cap(m.bytes) > maxMemory || max(cap(m.parsed[0].elements), cap(m.parsed[1].elements)) > maxElements {
		*m = Memory{}
	}
}

// maxMemory bounds the bytes of keys that a Memory retains: few documents have large arrays.
const maxMemory = 8 << 10

// maxElements bounds the elements that a Memory retains: about six kilobytes.
const maxElements = 128

// Minus lists the keys that are in a and not in b; both are sorted.
func (m *Memory) Minus(a, b [][]byte) [][]byte {
	if len(b) == 0 {
		return a
	}
	start := len(m.keys)
	for _, k := range a {
		for len(b) > 0 && bytes.Compare(b[0], k) < 0 {
			b = b[1:]
		}
		if len(b) == 0 || !bytes.Equal(b[0], k) {
			m.keys = append(m.keys, k)
		}
	}
	return m.keys[start:len(m.keys):len(m.keys)]
}

// cursor is the state of one field while keys are derived: the value reached, and the remaining path. A final cursor is not
// expanded further, even when its value is an array: it is an element of an expanded array.
type cursor struct {
	v     value.Value
	rest  []string
	final bool
}

// Entries derives a document's keys: one for each element of the array that the paths run through, or just one.
func Entries(d value.Doc, fields []Field) KeySet { return EntriesIn(&Memory{}, d, fields) }

// EntriesIn is Entries in memory that is reused. The keys are valid until its Reset.
func EntriesIn(memory *Memory, d value.Doc, fields []Field) KeySet {
	ks := KeySet{AllNull: true, memory: memory}
	ks.derive(d, fields)
	return ks
}

// KeyValues returns the values of the document from which Entries made a key, in the order of the fields: those of the array
// element, where a path runs through an array. A missing value stands for null; nil means that the document has no such key.
func KeyValues(d value.Doc, fields []Field, key []byte) []value.Value {
	ks := KeySet{wanted: key, memory: &Memory{}}
	ks.derive(d, fields)
	return ks.found
}

func (ks *KeySet) derive(d value.Doc, fields []Field) {
	m := ks.memory
	m.cursors = m.cursors[:0]
	for _, f := range fields {
		m.cursors = append(m.cursors, cursor{v: m.root(d, f.parts[0]), rest: f.parts[1:]})
	}
	start := len(m.keys)
	if !ks.expand(m.cursors, fields) {
		m.keys = m.keys[:start]
		return
	}
	ks.Keys = m.keys[start:len(m.keys):len(m.keys)]
	if len(ks.Keys) > 1 {
		slices.SortFunc(ks.Keys, bytes.Compare)
		ks.Keys = slices.CompactFunc(ks.Keys, bytes.Equal)
	}
}

// advance follows the path through documents, up to the next array or the path's end.
func (c *cursor) advance() {
	for !c.final && len(c.rest) > 0 {
		switch c.v.T {
		case bson.TypeArray:
			return
		case bson.TypeEmbeddedDocument:
			c.v, c.rest = c.v.Doc().Get(c.rest[0]), c.rest[1:]
		default:
			*c = cursor{final: true}
		}
	}
	c.final = c.final || c.v.T != bson.TypeArray
}

// position follows the path into an array when its next part is a position that the array has. The element at a path's end is
// not expanded: an array is one value, unless it is empty, which is undefined here too.
func (c *cursor) position() bool {
	if len(c.rest) == 0 {
		return false
	}
	n, ok := value.ParseIndex(c.rest[0])
	if !ok {
		return false
	}
	e := c.v.Doc().At(n)
	if e.IsMissing() {
		return false
	}
	*c = cursor{v: e, rest: c.rest[1:], final: len(c.rest) == 1}
	if c.final && e.T == bson.TypeArray && e.Doc().Empty() {
		c.v = value.Value{T: bson.TypeUndefined}
	}
	return true
}

func (ks *KeySet) expand(cs []cursor, fields []Field) bool {
	var arr value.Value
	first := -1
	for i := range cs {
		cs[i].advance()
		switch {
		case cs[i].final:
		case first < 0:
			arr, first = cs[i].v, i
		case &arr.B[0] != &cs[i].v.B[0]:
			ks.Parallel = fields[first].Path + " and " + fields[i].Path
			return false
		}
	}
	if first < 0 {
		ks.emit(cs, fields)
		return true
	}
	var through uint32 // Bit i: field i takes a value from each element of the array.
	for i := range cs {
		if !cs[i].final && !cs[i].position() {
			through |= 1 << i
		}
	}
	if through == 0 {
		return ks.expand(cs, fields)
	}
	ks.Multikey |= through
	m := ks.memory
	if ks.wanted == nil {
		n := max(1, arr.Doc().Len())
		m.keys, m.bytes = slices.Grow(m.keys, n), slices.Grow(m.bytes, n*usualKey)
	}
	free := len(m.cursors)
	m.cursors = append(m.cursors, cs...)
	next := m.cursors[free:len(m.cursors):len(m.cursors)]
	defer func() { m.cursors = m.cursors[:free] }()
	elements := arr.Doc().Iter()
	for n := 0; ; n++ {
		_, e, more := elements.Next()
		if !more && n > 0 {
			return true
		}
		if !more { // An empty array is indexed as undefined, a path through it as null.
			e = value.Value{T: bson.TypeUndefined}
		}
		copy(next, cs)
		for i := range next {
			switch c := &next[i]; {
			case through&(1<<i) == 0:
			case len(c.rest) == 0:
				*c = cursor{v: e, final: true}
			case e.T == bson.TypeEmbeddedDocument:
				c.v = e
			default:
				*c = cursor{final: true}
			}
		}
		if !ks.expand(next, fields) {
			return false
		}
	}
}

// usualKey is the initial capacity of a key, in bytes: two ids, a word and a time.
const usualKey = 128

func (ks *KeySet) emit(cs []cursor, fields []Field) {
	m := ks.memory
	start := len(m.bytes)
	if m.bytes == nil {
		m.bytes = make([]byte, 0, usualKey)
	}
	for i, c := range cs {
		if !c.v.IsMissing() {
			ks.AllNull = false
		}
		m.bytes = value.AppendKey(m.bytes, c.v, fields[i].Desc)
	}
	k := m.bytes[start:len(m.bytes):len(m.bytes)]
	if ks.wanted == nil {
		m.keys = append(m.keys, k)
		return
	}
	if ks.found == nil && bytes.Equal(k, ks.wanted) {
		for _, c := range cs {
			ks.found = append(ks.found, c.v)
		}
	}
}
