package query

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// node is a compiled criterion: always, match, search, join or exists.
type node interface{ isNode() }

// matchAll matches every document.
type matchAll struct{}

// match is a MongoDB filter; never empty.
type match bson.D

// join is the conjunction or disjunction of two or more criteria.
type join struct {
	or   bool
	kids []node
}

// exists matches documents with a related document that matches in; with not, documents without one.
type exists struct {
	rel relation
	in  node
	not bool
}

// search is a match of a text in a field. A dictionary of the field's values may list those that match.
type search struct {
	match
	text string
}

func (matchAll) isNode() {}
func (match) isNode()    {}
func (join) isNode()     {}
func (exists) isNode()   {}

// criterion is the match of one operator on one path.
func criterion(path, operator string, operand any) match {
	return match{{Key: path, Value: bson.D{{Key: operator, Value: operand}}}}
}

// never matches nothing.
func never(path string) match { return criterion(path, "$in", bson.A{}) }

// and joins criteria that must all hold. Without criteria it is always.
func and(kids ...node) node {
	var rest []node
	for _, k := range kids {
		switch k := k.(type) {
		case matchAll:
		case join:
			if k.or {
				rest = append(rest, k)
			} else {
				rest = append(rest, k.kids...)
			}
		default:
			rest = append(rest, k)
		}
	}
	return joined(false, rest)
}

// or joins criteria one of which must hold. Without criteria it is always, as a filter without criteria matches
// everything.
func or(kids ...node) node {
	for _, k := range kids {
		if _, ok := k.(matchAll); ok {
			return matchAll{}
		}
	}
	return joined(true, kids)
}

func joined(or bool, kids []node) node {
	switch len(kids) {
	case 0:
		return matchAll{}
	case 1:
		return kids[0]
	}
	return join{or: or, kids: kids}
}

// toBSON encodes a criterion that refers only to its own collection.
func toBSON(n node) (bson.D, error) {
	switch n := n.(type) {
	case matchAll:
		return bson.D{}, nil
	case match:
		return bson.D(n), nil
	case search:
		return bson.D(n.match), nil
	case join:
		list := make([]bson.D, len(n.kids))
		for i, k := range n.kids {
			var err error
			if list[i], err = toBSON(k); err != nil {
				return nil, err
			}
		}
		if n.or {
			return anyOf(list), nil
		}
		return allOf(list), nil
	case exists:
		return nil, fmt.Errorf("query: %s by %s: %w", n.rel.from, n.rel.to, ErrRelated)
	}
	return nil, fmt.Errorf("query: %T: %w", n, ErrUnsupported)
}

// allOf merges filters that must all hold into one document where their keys allow it, because planners optimise that
// form best. The bounds of one field become one range.
func allOf(list []bson.D) bson.D {
	out := bson.D{}
	var clashing bson.A
	for _, d := range list {
		if !merge(&out, d) {
			clashing = append(clashing, d)
		}
	}
	if len(clashing) > 0 {
		out = append(out, bson.E{Key: "$and", Value: clashing})
	}
	return out
}

// merge adds the elements of d to out. If keys clash it leaves out unchanged and returns false.
func merge(out *bson.D, d bson.D) bool {
	merged := slices.Clone(*out)
	for _, e := range d {
		if e.Key == "$and" {
			return false // Clashing elements go below this key.
		}
		at := slices.IndexFunc(merged, func(have bson.E) bool { return have.Key == e.Key })
		if at < 0 {
			merged = append(merged, e)
			continue
		}
		bounds, ok := bothBounds(merged[at].Value, e.Value)
		if !ok {
			return false
		}
		merged[at].Value = bounds
	}
	*out = merged
	return true
}

// bothBounds joins conditions on one field that are bounds, none of them twice.
func bothBounds(have, more any) (bson.D, bool) {
	first, isFirst := have.(bson.D)
	second, isSecond := more.(bson.D)
	if !isFirst || !isSecond {
		return nil, false
	}
	joined := slices.Concat(first, second)
	seen := map[string]bool{}
	for _, e := range joined {
		if !isBound(e.Key) || seen[e.Key] {
			return nil, false
		}
		seen[e.Key] = true
	}
	return joined, true
}

// isBound reports whether an operator bounds a range.
func isBound(operator string) bool {
	return slices.Contains([]string{"$gt", "$gte", "$lt", "$lte"}, operator)
}

func anyOf(list []bson.D) bson.D {
	if len(list) == 1 {
		return list[0]
	}
	a := make(bson.A, len(list))
	for i, d := range list {
		a[i] = d
	}
	return bson.D{{Key: "$or", Value: a}}
}
