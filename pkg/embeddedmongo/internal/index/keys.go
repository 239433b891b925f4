// Package index derives index entries and sort keys from documents.
package index

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// KeySet is what a document contributes to an index.
type KeySet struct {
	Keys     [][]byte // Sorted, distinct; empty when the document has parallel arrays.
	Multikey uint32   // Bit i: field i got its values through an array.
	AllNull  bool     // No field is present: a sparse index leaves the document out.
	Parallel string   // The two paths that lie in different arrays, when there are such.
}

// cursor is one field's place while keys are derived: the value reached, and the path still to go. A final one is not
// expanded any further, even when its value is an array: it is the element of an array that was.
type cursor struct {
	v     value.Value
	rest  []string
	final bool
}

// Entries derives a document's keys: one for each element of the array that the paths run through, or just one.
func Entries(d value.Doc, fields []Field) KeySet {
	ks := KeySet{AllNull: true}
	var buf [4]cursor
	cs := buf[:0]
	root := value.OfDoc(d)
	for _, f := range fields {
		cs = append(cs, cursor{v: root, rest: f.parts})
	}
	if !ks.expand(cs, fields) {
		ks.Keys = nil
		return ks
	}
	if len(ks.Keys) > 1 {
		slices.SortFunc(ks.Keys, bytes.Compare)
		ks.Keys = slices.CompactFunc(ks.Keys, bytes.Equal)
	}
	return ks
}

// advance follows the path through documents, up to the next array or the path's end.
func (c *cursor) advance() {
	for !c.final && len(c.rest) > 0 {
		switch c.v.T {
		case bson.TypeArray:
			// A number in the path that is a position of the array selects the element; else the array is expanded.
			n, ok := value.ParseIndex(c.rest[0])
			if !ok {
				return
			}
			e := c.v.Doc().At(n)
			if e.IsMissing() {
				return
			}
			c.v, c.rest = e, c.rest[1:]
		case bson.TypeEmbeddedDocument:
			c.v, c.rest = c.v.Doc().Get(c.rest[0]), c.rest[1:]
		default:
			*c = cursor{final: true}
		}
	}
	c.final = c.final || c.v.T != bson.TypeArray
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
	for i := range cs {
		if !cs[i].final {
			ks.Multikey |= 1 << i
		}
	}
	elements := arr.Doc().Values()
	if len(elements) == 0 {
		// An empty array is indexed as undefined, a path through it as null.
		elements = []value.Value{{T: bson.TypeUndefined}}
	}
	for _, e := range elements {
		next := slices.Clone(cs)
		for i := range next {
			switch c := &next[i]; {
			case c.final:
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

// usualKey has room for two ids, a word and a time.
const usualKey = 96

func (ks *KeySet) emit(cs []cursor, fields []Field) {
	k := make([]byte, 0, usualKey)
	for i, c := range cs {
		if !c.v.IsMissing() {
			ks.AllNull = false
		}
		k = value.AppendKey(k, c.v, fields[i].Desc)
	}
	ks.Keys = append(ks.Keys, k)
}
