package filter

import (
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Tested lists the paths whose single values decide a node, with null equal to missing. MatchValues then evaluates the node without
// the document. ok is false for other nodes.
func Tested(n Node) (paths []string, ok bool) {
	var kids []Node
	switch n := n.(type) {
	case And:
		kids = n
	case Or:
		kids = n
	case Nor:
		kids = n
	case Not:
		return Tested(n.Node)
	case *Leaf:
		switch n.Op {
		case Eq, Gt, Gte, Lt, Lte, In, Regex:
			return []string{n.Path}, true
		}
		return nil, false
	default:
		return nil, false
	}
	for _, k := range kids {
		more, ok := Tested(k)
		if !ok {
			return nil, false
		}
		paths = append(paths, more...)
	}
	return paths, true
}

// MatchValues evaluates a node whose paths Tested lists, where no value is an array. at returns the value at a path.
func MatchValues(n Node, at func(path string) value.Value) bool {
	one := func(k Node) bool { return MatchValues(k, at) }
	switch n := n.(type) {
	case And:
		return !slices.ContainsFunc(n, func(k Node) bool { return !one(k) })
	case Or:
		return slices.ContainsFunc(n, one)
	case Nor:
		return !slices.ContainsFunc(n, one)
	case Not:
		return !one(n.Node)
	case *Leaf:
		return n.Test(at(n.Path))
	}
	return false
}
