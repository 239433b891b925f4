package plan

import (
	"strings"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// predicate is one condition that every result must meet. Predicates of an $elemMatch only narrow the bounds: the $elemMatch, which
// origin names, is still tested on documents.
type predicate struct {
	path   string
	leaf   *filter.Leaf
	origin filter.Node
}

// conjunction is the planner's form of a filter: its conjuncts, and the predicates by path that can bound an index.
type conjunction struct {
	byPath map[string][]predicate
	nodes  []filter.Node // All conjuncts, flattened.
	lists  lists
}

func conjoin(f *filter.Filter) *conjunction {
	c := &conjunction{byPath: map[string][]predicate{}, lists: lists{}}
	c.add(f.Conjuncts())
	return c
}

func (c *conjunction) add(all filter.And) {
	for _, n := range all {
		switch n := n.(type) {
		case filter.And:
			c.add(n)
			continue
		case *filter.Leaf:
			c.leaf(n)
		}
		c.nodes = append(c.nodes, n)
	}
}

func (c *conjunction) leaf(l *filter.Leaf) {
	switch l.Op {
	case filter.ElemMatchDoc, filter.ElemMatchValue:
		sub, _ := l.Sub.(filter.And)
		for _, n := range sub {
			if k, ok := n.(*filter.Leaf); ok && k.Op != filter.ElemMatchDoc && k.Op != filter.ElemMatchValue {
				path := l.Path
				if k.Path != "" {
					path += "." + k.Path
				}
				c.byPath[path] = append(c.byPath[path], predicate{path: path, leaf: k, origin: l})
			}
		}
	default:
		c.byPath[l.Path] = append(c.byPath[l.Path], predicate{path: l.Path, leaf: l})
	}
}

// bound holds the values of one index field that the predicates allow: points or one range, encoded in the field's direction.
type bound struct {
	points [][]byte // Sorted as encoded.
	lo, hi []byte   // Range [lo, hi) when points is nil.
	used   []*filter.Leaf
	exact  bool // The leaves used hold for exactly the entries within.
	origin filter.Node
	equal  bool // One point.
}

// hasPosition reports whether a path selects array positions. Conditions on such a path also look for fields of that name in elements,
// which an index does not have.
func hasPosition(path string) bool {
	for _, p := range strings.Split(path, ".") {
		if _, ok := value.ParseIndex(p); ok {
			return true
		}
	}
	return false
}

// boundFor picks the tightest bound for a field: equality, then a list, then a range. nil when there is none.
func (c *conjunction) boundFor(preds []predicate, desc, multikey bool) *bound {
	var best *bound
	for _, p := range preds {
		if b := c.pointBound(p, preds, desc, multikey); b != nil && (best == nil || len(b.points) < len(best.points)) {
			best = b
		}
	}
	if best != nil {
		return best
	}
	return rangeBound(preds, desc, multikey)
}

// pointBound is the bound of the values that one predicate lists. Values outside the ranges of the other predicates are left out.
func (c *conjunction) pointBound(p predicate, preds []predicate, desc, multikey bool) *bound {
	var vs []value.Value
	switch {
	case p.leaf.Op == filter.Eq:
		vs = []value.Value{p.leaf.Value}
	case p.leaf.Op == filter.In && !p.leaf.HasRegexps():
		vs = p.leaf.List
	default:
		return nil
	}
	b := &bound{used: []*filter.Leaf{p.leaf}, exact: p.origin == nil, origin: p.origin}
	if b.exact && !multikey {
		vs = b.within(vs, preds)
	}
	b.equal = len(vs) == 1
	encoded := c.lists.encode(p, vs, desc)
	if encoded.arrays {
		return nil // An array is indexed by its elements.
	}
	b.points, b.equal = encoded.points, b.equal && !encoded.empty
	// A key of null behind an array may stand for an element without the rest of the path.
	if multikey && encoded.nullish && strings.Contains(p.path, ".") {
		b.exact = false
	}
	return b
}

// within returns the values that are in the ranges of all predicates, and adds the predicates to those that the bound uses.
func (b *bound) within(vs []value.Value, preds []predicate) []value.Value {
	for _, p := range preds {
		if p.origin != nil || !rangeable(p.leaf) {
			continue
		}
		b.used = append(b.used, p.leaf)
		var inside []value.Value
		for _, v := range vs {
			if filter.MatchValues(filter.And{p.leaf}, func(string) value.Value { return v }) {
				inside = append(inside, v)
			}
		}
		vs = inside
	}
	return vs
}

// rangeBound is the bound of all ranges that the predicates allow: of several lower or upper limits the narrowest one.
func rangeBound(preds []predicate, desc, multikey bool) *bound {
	var lower, upper *filter.Leaf
	b := &bound{exact: true}
	for _, p := range preds {
		if !rangeable(p.leaf) || len(b.used) > 0 && (p.origin != b.origin || value.Class(p.leaf.Value.T) != value.Class(b.used[0].Value.T)) {
			continue
		}
		if len(b.used) > 0 && multikey && !ofOneElement(b.origin) {
			continue // Different elements of one array may satisfy the two bounds.
		}
		b.used, b.origin = append(b.used, p.leaf), p.origin
		b.exact = b.exact && p.origin == nil
		switch p.leaf.Op {
		case filter.Gt, filter.Gte:
			if lower == nil || narrower(p.leaf, lower, 1) {
				lower = p.leaf
			}
		case filter.Lt, filter.Lte:
			if upper == nil || narrower(p.leaf, upper, -1) {
				upper = p.leaf
			}
		}
	}
	if lower == nil && upper == nil {
		return nil
	}
	b.lo, b.hi = classRange(value.Class(b.used[0].Value.T), desc)
	near, far := lower, upper
	if desc {
		near, far = upper, lower
	}
	if near != nil {
		b.lo = value.AppendKey(nil, near.Value, desc)
		if near.Op == filter.Gt || near.Op == filter.Lt {
			b.lo = successor(b.lo)
		}
	}
	if far != nil {
		b.hi = value.AppendKey(nil, far.Value, desc)
		if far.Op == filter.Gte || far.Op == filter.Lte {
			b.hi = successor(b.hi)
		}
	}
	return b
}

// ofOneElement reports whether an origin, nil for none, tests each element as a whole. An $elemMatch of fields does not: a field of an
// element may be an array.
func ofOneElement(origin filter.Node) bool {
	l, ok := origin.(*filter.Leaf)
	return ok && l.Op == filter.ElemMatchValue
}

// narrower reports whether a limit excludes values that another one allows: a lower limit for the sign 1, an upper one for -1.
func narrower(l, other *filter.Leaf, sign int) bool {
	c := sign * value.Compare(l.Value, other.Value)
	return c > 0 || c == 0 && (l.Op == filter.Gt || l.Op == filter.Lt)
}

// rangeable reports whether a range comparison is a range of index keys.
func rangeable(l *filter.Leaf) bool {
	switch l.Op {
	case filter.Gt, filter.Gte, filter.Lt, filter.Lte:
	default:
		return false
	}
	switch value.Class(l.Value.T) {
	case value.ClassNull, value.ClassMinKey, value.ClassMaxKey, value.ClassArray, value.ClassEmptyArray:
		return false
	}
	return !isNaN(l.Value)
}

// classRange spans all values of a class, except NaN, which no range comparison selects.
func classRange(class byte, desc bool) (lo, hi []byte) {
	lo, hi = []byte{class}, []byte{class + 1}
	if class == value.ClassNumber {
		lo = []byte{class, 0, 0, 0, 0, 0, 0, 0, 0, 0x81}
	}
	if desc {
		lo, hi = []byte{^class}, []byte{^class + 1}
		if class == value.ClassNumber {
			hi = []byte{^class, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
		}
	}
	return lo, hi
}
