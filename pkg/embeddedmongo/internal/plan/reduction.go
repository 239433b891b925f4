package plan

import (
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// reducedAfter is the number of gathered values before which no reduction reads the values of the near side.
const reducedAfter = 1 << 15

// reduction keeps of the values that a far side gathers those that the near side has. So the memory of a semi-join follows its smaller
// side, and the lookups stay within a small table:
//
//	near side  ws, flow_run_id ──▶ run 3   run 7                        read once the far side has given half as many values
//	far side   ws, deployment_id ──▶ run 1   run 3 ──▶ kept   run 4     passes by
//
// The near side may have other values by the time of a lookup. They are unknown, not absent.
type reduction struct {
	near   *storage.Reader
	q      Query
	filter *filter.Filter // Of the near side.
	path   string
	most   int                    // Bounds the values.
	after  int                    // The number of gathered values before which nothing is reduced.
	spend  func(cost int64) error // Is called with the cost of each step of reading the near side.

	planned bool
	keys    *Plan     // The keys of the near side with the values; nil when no index has them in order, or they are too many.
	n       int64     // The number of keys.
	values  *valueSet // Of the near side; nil until they are read.
}

// plan chooses the keys that g will read. Their values are those of all documents that have the first fields of indexes, such as the workspace: a plan may
// test the relation before the other conditions.
func (r *reduction) plan(g *gatherer) error {
	r.planned = true
	leads := func(n filter.Node) bool {
		leaf, ok := n.(*filter.Leaf)
		return ok && slices.ContainsFunc(r.near.Indexes(), func(ix *storage.Index) bool { return !ix.IsID() && ix.Fields[0].Path == leaf.Path })
	}
	con := conjunctionOf(slices.DeleteFunc(slices.Clone(r.filter.Conjuncts()), func(n filter.Node) bool { return !leads(n) }))
	p := grouping(r.near, r.q, con, r.path)
	if p == nil || len(p.spans) != 1 || p.ix.Multikey() != 0 {
		return nil
	}
	n, err := g.size(p, int64(r.most)+1)
	if err != nil || n > int64(r.most) {
		return err
	}
	p.exact = true // Conditions that need documents are not tested: the result is larger, and no less correct.
	r.keys, r.n = p, n
	return nil
}

// add adds a value to a set, if the near side has it. nil keeps all.
func (r *reduction) add(set *valueSet, key []byte) error {
	if r == nil || r.values == nil {
		if set.add(key); r == nil || set.len() < r.after {
			return nil
		}
		return r.begin(set)
	}
	if r.values.has(key) {
		set.add(key)
	}
	return nil
}

// begin reads the values of the near side if that pays by now, and removes all others from a set.
func (r *reduction) begin(set *valueSet) error {
	g := &gatherer{c: r.near, q: r.q, path: r.path, most: r.most, spend: r.spend}
	if !r.planned {
		if err := r.plan(g); err != nil {
			return err
		}
	}
	if r.keys == nil || int64(set.len()) < r.n/2 {
		return nil
	}
	values := newValueSetOf(r.n)
	g.con = r.keys.con
	if g.base, g.at = r.keys, -1; r.path != "_id" {
		g.at = r.keys.position(r.path)
	}
	if err := g.collect(values, nil); err != nil {
		return err
	}
	r.values = values
	set.keep(values)
	return nil
}

// reduced reports whether sets have only values of the near side.
func (r *reduction) reduced() bool { return r != nil && r.values != nil }

// unknown reports whether a value is not one of the near side's at the time of the reduction, so what is gathered does not tell about it.
func (r *reduction) unknown(key []byte) bool { return r.reduced() && !r.values.has(key) }

// complete reports whether a set has all values that it can get.
func (r *reduction) complete(set *valueSet) bool {
	return r.reduced() && set.len() == r.values.len()
}
