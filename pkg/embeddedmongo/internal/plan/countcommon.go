package plan

import (
	"bytes"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// countCommon counts the documents whose array holds several values, as of $all: by the ranges of an index, one for each
// value, whose keys are the same behind the value. p is nil when the filter is of another kind, or no index covers it.
func countCommon(c *storage.Collection, q Query, con *conjunction) (n int64, p *Plan, err error) {
	var path string
	var same, others []filter.Node
	for _, node := range con.nodes {
		if l, ok := node.(*filter.Leaf); ok && l.Op == filter.Eq && (path == "" || path == l.Path) && equalities(con, l.Path) > 1 {
			path = l.Path
			same = append(same, node)
			continue
		}
		others = append(others, node)
	}
	if len(same) < 2 {
		return 0, nil, nil
	}
	var plans []*Plan
	for _, node := range same {
		k := covering(c, q, conjunctionOf(append(slices.Clone(others), node)))
		if k == nil || len(k.spans) != 1 || k.dedupe || !k.adjacent() || (len(plans) > 0 && k.ix != plans[0].ix) {
			return 0, nil, nil
		}
		plans = append(plans, k)
	}
	n, err = common(plans)
	return n, plans[0], err
}

func equalities(con *conjunction, path string) (n int) {
	for _, p := range con.byPath[path] {
		if p.origin == nil && p.leaf.Op == filter.Eq {
			n++
		}
	}
	return n
}

// common counts the endings that the keys of all plans have. Each walk goes on to the farthest ending of the others.
func common(plans []*Plan) (n int64, err error) {
	v, err := plans[0].c.View()
	if err != nil {
		return 0, err
	}
	defer v.Close()
	m := &merged{}
	for _, p := range plans {
		it, err := v.Iter(p.spans[0].lo, p.spans[0].hi)
		if err != nil {
			return 0, err
		}
		r := &run{it: it, at: p.spans[0].at}
		if !m.step(r, true) {
			return 0, storage.Error(m.failed)
		}
		m.runs = append(m.runs, r)
	}
	var farthest []byte
	agreeing, expired := 0, plans[0].q.Expired
	for steps := 1; ; steps++ {
		if steps%expiredAfter == 0 && expired != nil {
			if err := expired(); err != nil {
				return 0, err
			}
		}
		r := m.runs[steps%len(m.runs)]
		if !r.reach(m, farthest) {
			return n, storage.Error(m.failed)
		}
		if agreeing++; !bytes.Equal(r.rest, farthest) {
			farthest, agreeing = append(farthest[:0], r.rest...), 1
		}
		if agreeing < len(m.runs) {
			continue
		}
		n++
		if !m.step(r, false) {
			return n, storage.Error(m.failed)
		}
		farthest, agreeing = append(farthest[:0], r.rest...), 1
	}
}

// nearby is how many keys are rather stepped over than jumped.
const nearby = 8

// reach moves a run on to the first ending that is not before one; false at the end.
func (r *run) reach(m *merged, ending []byte) bool {
	for range nearby {
		if bytes.Compare(r.rest, ending) >= 0 {
			return true
		}
		if !m.step(r, false) {
			return false
		}
	}
	if bytes.Compare(r.rest, ending) >= 0 {
		return true
	}
	if !r.it.SeekGE(append(bytes.Clone(r.it.Key()[:r.at]), ending...)) {
		m.failed = r.it.Error()
		return false
	}
	r.rest = r.it.Key()[r.at:]
	return true
}
