package plan

import (
	"math"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// usable reports whether the index contains every document that can match. A sparse index does when the filter requires one of
// its fields, a partial index when the filter implies its condition, any other index always.
func usable(ix *storage.Index, con *conjunction) bool {
	if ix.Partial != nil {
		return impliesAll(con, ix.Partial.Conjuncts())
	}
	if !ix.Spec.Sparse {
		return true
	}
	for _, f := range ix.Fields {
		for _, p := range con.byPath[f.Path] {
			if p.origin == nil && requiresPresence(p.leaf) {
				return true
			}
		}
	}
	return false
}

// requiresPresence reports whether a leaf never holds for a missing field.
func requiresPresence(l *filter.Leaf) bool {
	switch l.Op {
	case filter.Eq:
		return !l.Value.IsNullish()
	case filter.In:
		return !l.HasNull()
	case filter.Gt, filter.Lt, filter.Gte, filter.Lte:
		switch value.Class(l.Value.T) {
		case value.ClassNull, value.ClassMinKey, value.ClassMaxKey:
			return false
		}
		return true
	case filter.Exists, filter.Size, filter.Mod, filter.Regex, filter.TypeOf, filter.ElemMatchDoc, filter.ElemMatchValue:
		return true
	}
	return false
}

func impliesAll(con *conjunction, want filter.And) bool {
	for _, n := range want {
		switch n := n.(type) {
		case filter.And:
			if !impliesAll(con, n) {
				return false
			}
		case *filter.Leaf:
			if !impliesLeaf(con, n) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func impliesLeaf(con *conjunction, want *filter.Leaf) bool {
	for _, p := range con.byPath[want.Path] {
		if p.origin == nil && implies(p.leaf, want) {
			return true
		}
	}
	return want.Op == filter.Exists && slices.ContainsFunc(con.nodes, func(n filter.Node) bool { return excludesNull(n, want.Path) })
}

// excludesNull reports whether a node is {path: {$ne: null}} or a {path: {$nin: …}} with null, which never hold for a missing field. They
// do behind an empty array, which has no element that could be null.
func excludesNull(n filter.Node, path string) bool {
	not, ok := n.(filter.Not)
	if !ok || strings.Contains(path, ".") {
		return false
	}
	l, ok := not.Node.(*filter.Leaf)
	return ok && l.Path == path && matchesMissing(l)
}

// implies reports whether a leaf of the query can only hold where the index's leaf holds.
func implies(have, want *filter.Leaf) bool {
	switch want.Op {
	case filter.Exists:
		return requiresPresence(have)
	case filter.TypeOf:
		switch have.Op {
		case filter.Eq:
			return typesOf(have.Value, want)
		case filter.Gt, filter.Gte, filter.Lt, filter.Lte:
			return requiresPresence(have) && typesOf(have.Value, want)
		case filter.In:
			for _, v := range have.List {
				if !typesOf(v, want) {
					return false
				}
			}
			return !have.HasRegexps()
		}
		return false
	case filter.Eq, filter.Gt, filter.Gte, filter.Lt, filter.Lte, filter.In:
	default:
		return false
	}
	switch have.Op {
	case filter.Eq:
		return holdsFor(want, have.Value)
	case filter.In:
		for _, v := range have.List {
			if !holdsFor(want, v) {
				return false
			}
		}
		return !have.HasRegexps()
	case filter.Gt, filter.Gte, filter.Lt, filter.Lte:
		return tighter(have, want)
	}
	return false
}

// typesOf reports whether the leaf accepts the types of all values equal to the value: for numbers, all four types.
func typesOf(v value.Value, want *filter.Leaf) bool {
	if v.IsNumber() {
		for _, n := range []string{"double", "int", "long", "decimal"} {
			if t, _ := value.TypeByName(n); !want.Types()[t] {
				return false
			}
		}
		return true
	}
	return want.Types()[v.T]
}

func holdsFor(want *filter.Leaf, v value.Value) bool {
	if v.IsNullish() && want.Op != filter.Eq && want.Op != filter.In {
		return false
	}
	return want.Test(v)
}

func isNaN(v value.Value) bool { return v.IsNumber() && math.IsNaN(v.Float()) }

func tighter(have, want *filter.Leaf) bool {
	if value.Class(have.Value.T) != value.Class(want.Value.T) || !requiresPresence(have) {
		return false
	}
	switch {
	case isNaN(have.Value): // It matches NaN alone, or nothing.
		return holdsFor(want, have.Value)
	case isNaN(want.Value):
		return false
	}
	c := value.Compare(have.Value, want.Value)
	switch want.Op {
	case filter.Gt:
		return (have.Op == filter.Gt && c >= 0) || (have.Op == filter.Gte && c > 0)
	case filter.Gte:
		return (have.Op == filter.Gt || have.Op == filter.Gte) && c >= 0
	case filter.Lt:
		return (have.Op == filter.Lt && c <= 0) || (have.Op == filter.Lte && c < 0)
	case filter.Lte:
		return (have.Op == filter.Lt || have.Op == filter.Lte) && c <= 0
	}
	return false
}
