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

	memory []byte        // Of the keys.
	wanted []byte        // The key that KeyValues searches.
	found  []value.Value // Its values.
}

// cursor is the state of one field while keys are derived: the value reached, and the remaining path. A final cursor is not
// expanded further, even when its value is an array: it is an element of an expanded array.
type cursor struct {
	v     value.Value
	rest  []string
	final bool
}

// Entries derives a document's keys: one for each element of the array that the paths run through, or just one.
func Entries(d value.Doc, fields []Field) KeySet { return EntriesIn(nil, d, fields) }

// EntriesIn is Entries for a caller that provides memory: the keys are appended to it. Memory returns it for the next keys.
func EntriesIn(memory []byte, d value.Doc, fields []Field) KeySet {
	ks := KeySet{AllNull: true, memory: memory}
	ks.derive(d, fields)
	return ks
}

// Memory returns the memory behind the keys of EntriesIn. It may be larger than before; earlier keys stay where they are.
func (ks *KeySet) Memory() []byte { return ks.memory }

// KeyValues returns the values of the document from which Entries made a key, in the order of the fields: those of the array
// element, where a path runs through an array. A missing value stands for null; nil means that the document has no such key.
func KeyValues(d value.Doc, fields []Field, key []byte) []value.Value {
	ks := KeySet{wanted: key}
	ks.derive(d, fields)
	return ks.found
}

func (ks *KeySet) derive(d value.Doc, fields []Field) {
	var buf [4]cursor
	cs := buf[:0]
	root := value.OfDoc(d)
	for _, f := range fields {
		cs = append(cs, cursor{v: root, rest: f.parts})
	}
	if !ks.expand(cs, fields) {
		ks.Keys = nil
		return
	}
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
	elements := arr.Doc().Values()
	if len(elements) == 0 {
		// An empty array is indexed as undefined, a path through it as null.
		elements = []value.Value{{T: bson.TypeUndefined}}
	}
	if ks.wanted == nil {
		ks.Keys, ks.memory = slices.Grow(ks.Keys, len(elements)), slices.Grow(ks.memory, len(elements)*usualKey)
	}
	next := make([]cursor, len(cs))
	for _, e := range elements {
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
	return true
}

// usualKey is the initial capacity of a key, in bytes: two ids, a word and a time.
const usualKey = 128

func (ks *KeySet) emit(cs []cursor, fields []Field) {
	start := len(ks.memory)
	if ks.memory == nil {
		ks.memory = make([]byte, 0, usualKey)
	}
	for i, c := range cs {
		if !c.v.IsMissing() {
			ks.AllNull = false
		}
		ks.memory = value.AppendKey(ks.memory, c.v, fields[i].Desc)
	}
	k := ks.memory[start:len(ks.memory):len(ks.memory)]
	if ks.wanted == nil {
		ks.Keys = append(ks.Keys, k)
		return
	}
	if ks.found == nil && bytes.Equal(k, ks.wanted) {
		for _, c := range cs {
			ks.found = append(ks.found, c.v)
		}
	}
}
