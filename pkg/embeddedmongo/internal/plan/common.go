package plan

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// common intersects several plans in their common order, as a leapfrog join: each iterator seeks the greatest suffix of the
// others, so keys of only one plan are mostly skipped.
//
//	deployment_id = X │ 09:00 a   09:01 c             09:05 g     …
//	tags = "nightly"  │           09:01 c   09:03 e   09:05 g     …
//	state.type = DONE │ 09:00 a   09:01 c   09:03 e   09:05 g     …
//	                              ───▲───             ───▲───
type common struct {
	walks   []*merged
	started bool
	last    []byte // The last suffix delivered.
}

func (p *Plan) openCommon(v *storage.View) (*common, error) {
	m := &common{}
	for _, k := range append([]*Plan{p}, p.also...) {
		w, err := k.openMerged(v)
		if err != nil {
			return nil, err
		}
		m.walks = append(m.walks, w)
	}
	return m, nil
}

func (m *common) next() bool {
	lead := m.walks[0]
	if !m.started {
		m.started = true
		if !lead.next() {
			return false
		}
	} else if !lead.pass(m.last) {
		return false // Several values of a list can share one suffix.
	}
	m.last = append(m.last[:0], lead.ending()...)
	for i, agreeing := 1, 1; agreeing < len(m.walks); i = (i + 1) % len(m.walks) {
		w := m.walks[i]
		if !w.reach(m.last) {
			return false
		}
		if agreeing++; !bytes.Equal(w.ending(), m.last) {
			m.last, agreeing = append(m.last[:0], w.ending()...), 1
		}
	}
	return true
}

func (m *common) key() []byte            { return m.walks[0].key() }
func (m *common) value() ([]byte, error) { return m.walks[0].value() }

func (m *common) err() error {
	for _, w := range m.walks {
		if w.failed != nil {
			return w.failed
		}
	}
	return nil
}

// withCommon adds plans of the same order that express conjuncts which this plan does not, so fewer documents are read and
// rejected. It returns the plan unchanged when there are none.
func (p *Plan) withCommon(con *conjunction) *Plan {
	if p.exact || !p.endsAlike(p) || (p.q.Sort != nil && len(p.spans) > 1 && !p.merge) {
		return p
	}
	out, iterators := *p, len(p.spans)
	out.reached = 0
	for i, n := range con.nodes {
		if out.expresses(n) {
			continue
		}
		if k := p.beside(con, i); k != nil && iterators+len(k.spans) <= maxMerge {
			iterators += len(k.spans)
			out.also = append(out.also, k)
		}
	}
	if len(out.also) == 0 {
		return p
	}
	out.also = byNumber(out.also)
	out.dedupe, out.merge = false, true // The intersection yields each suffix once.
	out.exact = out.coversAll(con)
	return &out
}

// byNumber returns plans with those of the fewest keys first, as far as counters tell: what the first ones leave out is not looked for in
// the others.
func byNumber(plans []*Plan) []*Plan {
	numbers := make(map[*Plan]int64, len(plans))
	for _, p := range plans {
		n, ok, err := p.counted()
		if !ok || err != nil {
			n = p.c.Count()
		}
		numbers[p] = n
	}
	slices.SortStableFunc(plans, func(a, b *Plan) int { return cmp.Compare(numbers[a], numbers[b]) })
	return plans
}

// beside plans a conjunct that p does not express by an index with the same key suffix; nil when there is none.
func (p *Plan) beside(con *conjunction, at int) *Plan {
	leaf, ok := con.nodes[at].(*filter.Leaf)
	if !ok {
		return nil
	}
	// A bound uses one condition of a path, so the other conditions of the path are left out.
	nodes := slices.Clone(con.nodes)
	nodes = slices.DeleteFunc(nodes, func(n filter.Node) bool {
		other, ok := n.(*filter.Leaf)
		return ok && other != leaf && other.Path == leaf.Path
	})
	sub := con.subset(nodes)
	var best *Plan
	for _, ix := range p.c.Indexes() {
		k := candidateOf(p.c, p.q, sub, ix, true, maxMerge)
		if k != nil && k.expresses(leaf) && k.endsAlike(p) && (best == nil || len(k.bounds) > len(best.bounds)) {
			best = k
		}
	}
	if best != nil {
		best.reverse = p.reverse
	}
	return best
}

// endsAlike reports whether the keys of both plans have the same suffix fields after their points, one entry a document.
func (p *Plan) endsAlike(other *Plan) bool {
	a, b := p.fixed(), other.fixed()
	if p.ix.IsID() || a == 0 || len(p.spans) == 0 || len(p.spans) > maxMerge || p.ix.Multikey()>>a != 0 {
		return false
	}
	ends, others := p.ix.Fields[a:], other.ix.Fields[b:]
	if len(ends) != len(others) {
		return false
	}
	for i := range ends {
		if ends[i].Path != others[i].Path || ends[i].Desc != others[i].Desc {
			return false
		}
	}
	return true
}

// fixed is the number of leading fields that points fix.
func (p *Plan) fixed() int {
	n := 0
	for n < len(p.bounds) && p.bounds[n].points != nil {
		n++
	}
	return n
}
