package plan

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// lists are the encoded values of the lists of a filter. Each index with the field needs the same ones.
type lists map[listKey]points

type listKey struct {
	leaf *filter.Leaf
	desc bool
}

// points are encoded values, in the order of the encodings.
type points struct {
	points  [][]byte
	arrays  bool // One is an array with elements.
	empty   bool // One is an empty array.
	nullish bool // One is null, or an array.
}

// encode encodes values that a predicate lists: all values of its leaf once.
func (l lists) encode(p predicate, vs []value.Value, desc bool) points {
	whole := p.leaf.Op == filter.In && len(vs) == len(p.leaf.List)
	if !whole {
		return encodePoints(vs, desc)
	}
	key := listKey{p.leaf, desc}
	out, ok := l[key]
	if !ok {
		out = encodePoints(vs, desc)
		l[key] = out
	}
	return out
}

func encodePoints(vs []value.Value, desc bool) points {
	out := points{points: make([][]byte, 0, len(vs))}
	var memory []byte // One for all points: a list may be long.
	add := func(v value.Value) {
		at := len(memory)
		memory = value.AppendKey(memory, v, desc)
		out.points = append(out.points, memory[at:len(memory):len(memory)])
	}
	for _, v := range vs {
		switch {
		case v.T == bson.TypeArray && !v.Doc().Empty():
			return points{arrays: true}
		case v.T == bson.TypeArray: // The field is an empty array, or an array that has one.
			add(value.Value{T: bson.TypeUndefined})
			out.empty, out.nullish = true, true
		case v.IsNullish():
			out.nullish = true
		}
		add(v)
	}
	if !slices.IsSortedFunc(out.points, bytes.Compare) {
		slices.SortFunc(out.points, bytes.Compare)
	}
	return out
}
