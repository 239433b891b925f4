package filter

import "slices"

// Partial reports whether a filter may be the condition of a partial index. As in MongoDB 6.0 and later it consists of $and, $or,
// equality, $gt, $gte, $lt, $lte, $in, $type and {$exists: true}: nothing negated, no regular expression, nothing of arrays.
func Partial(n Node) bool {
	var kids []Node
	switch n := n.(type) {
	case And:
		kids = n
	case Or:
		if len(n) == 0 {
			return false // An empty $all.
		}
		kids = n
	case *Leaf:
		switch n.Op {
		case Eq, Gt, Gte, Lt, Lte, Exists, TypeOf:
			return true
		case In:
			return len(n.re) == 0
		}
		return false
	default:
		return false
	}
	return !slices.ContainsFunc(kids, func(k Node) bool { return !Partial(k) })
}
