package aggregate

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/expr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Accumulators are the accumulators of $group.
var Accumulators = []string{"$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$count", "$mergeObjects"}

func accumulates(op string) bool {
	return slices.Contains(Accumulators, op)
}

// accumulator computes one field of one group. step returns the growth of its state in bytes.
type accumulator interface {
	step(value.Value) (grown int, err error)
	result() value.Value
}

func newAccumulator(op string) accumulator {
	switch op {
	case "$first", "$last":
		return &endAccumulator{first: op == "$first"}
	case "$push", "$addToSet":
		a := &listAccumulator{}
		if op == "$addToSet" {
			a.seen = map[string]bool{}
		}
		return a
	case "$mergeObjects":
		return &mergeAccumulator{v: value.OfDoc(value.EmptyDoc)}
	}
	return &foldAccumulator{op: op}
}

type foldAccumulator struct {
	op string
	a  expr.Accumulation
}

func (f *foldAccumulator) step(v value.Value) (int, error) { return 0, f.a.Step(f.op, v) }
func (f *foldAccumulator) result() value.Value             { return f.a.Result(f.op) }

type endAccumulator struct {
	first bool
	set   bool
	v     value.Value
}

func (e *endAccumulator) step(v value.Value) (int, error) {
	if e.set && e.first {
		return 0, nil
	}
	if v.IsMissing() {
		v = value.Null
	}
	grown := len(v.B) - len(e.v.B)
	e.set, e.v = true, v.Clone()
	return grown, nil
}

func (e *endAccumulator) result() value.Value { return e.v }

type listAccumulator struct {
	seen map[string]bool
	vs   []value.Value
}

func (l *listAccumulator) step(v value.Value) (int, error) {
	if v.IsMissing() {
		return 0, nil
	}
	if l.seen != nil {
		k := string(value.AppendKey(nil, v, false))
		if l.seen[k] {
			return 0, nil
		}
		l.seen[k] = true
	}
	l.vs = append(l.vs, v.Clone())
	return len(v.B) + 32, nil
}

func (l *listAccumulator) result() value.Value { return value.OfArray(l.vs) }

type mergeAccumulator struct{ v value.Value }

func (m *mergeAccumulator) step(v value.Value) (int, error) {
	if v.IsNullish() {
		return 0, nil
	}
	r, err := expr.MergeObjects(nil, []value.Value{m.v, v})
	if err != nil {
		return 0, err
	}
	grown := len(r.B) - len(m.v.B)
	m.v = value.Value{T: bson.TypeEmbeddedDocument, B: r.B}
	return grown, nil
}

func (m *mergeAccumulator) result() value.Value { return m.v }
