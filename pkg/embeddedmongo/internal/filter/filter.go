// Package filter compiles MongoDB query filters and matches documents in wire form against them.
package filter

import "github.com/orch-project/orch/pkg/embeddedmongo/internal/value"

// Filter is a compiled query filter. It is immutable and safe for concurrent use.
type Filter struct{ root And }

// Match reports whether the document satisfies the filter.
func (f *Filter) Match(d value.Doc) bool {
	return f.root.match(d, &state{pos: -1})
}

// MatchPosition is Match that also returns the array position of the positional operator "$", or -1.
func (f *Filter) MatchPosition(d value.Doc) (ok bool, pos int) {
	st := state{pos: -1}
	ok = f.root.match(d, &st)
	return ok, st.pos
}

// Conjuncts are the predicates that must all hold, for the planner.
func (f *Filter) Conjuncts() And { return f.root }

// Empty reports whether every document matches.
func (f *Filter) Empty() bool { return len(f.root) == 0 }

// state is the state of one evaluation.
type state struct {
	pos int // The matched array position.
	// element says that the document stands for an element that is tested as a whole: an array in it is not traversed.
	element bool
}

// All returns the filter that holds where all of them hold.
func All(fs []*Filter) *Filter {
	if len(fs) == 1 {
		return fs[0]
	}
	all := &Filter{}
	for _, f := range fs {
		all.root = append(all.root, f.root...)
	}
	return all
}

// Node is one condition of a filter: And, Or, Nor, Not or *Leaf.
type Node interface {
	match(value.Doc, *state) bool
}

// And holds when all nodes hold.
type And []Node

// Or holds when any node holds.
type Or []Node

// Nor holds when no node holds.
type Nor []Node

// Not negates a node.
type Not struct{ Node Node }

func (n And) match(d value.Doc, st *state) bool {
	for _, k := range n {
		if !k.match(d, st) {
			return false
		}
	}
	return true
}

func (n Or) match(d value.Doc, st *state) bool {
	for _, k := range n {
		if k.match(d, st) {
			return true
		}
	}
	return false
}

func (n Nor) match(d value.Doc, st *state) bool {
	pos := st.pos
	ok := !Or(n).match(d, st)
	st.pos = pos
	return ok
}

func (n Not) match(d value.Doc, st *state) bool {
	pos := st.pos
	ok := !n.Node.match(d, st)
	st.pos = pos
	return ok
}
