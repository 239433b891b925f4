package plan

import (
	"bytes"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// common reads what several plans have in common, in the order that all of them have: each goes on to the farthest ending of
// the others, so what only one of them has is mostly jumped over.
//
//	deployment_id = X │ 09:00 a   09:01 c             09:05 g     …
//	tags = "nightly"  │           09:01 c   09:03 e   09:05 g     …
//	state.type = DONE │ 09:00 a   09:01 c   09:03 e   09:05 g     …
//	                              ───▲───             ───▲───
type common struct {
	walks   []*merged
	started bool
	last    []byte // The ending that was delivered.
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
		return false // A list's values may have one ending several times.
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

// withCommon adds the plans that express what this one leaves out and have its order, so that documents that are not asked for
// need not be read to tell. The plan stays as it is where none does.
func (p *Plan) withCommon(con *conjunction) *Plan {
	if p.exact || !p.endsAlike(p) || (p.q.Sort != nil && len(p.spans) > 1 && !p.merge) {
		return p
	}
	out, iterators := *p, len(p.spans)
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
	out.dedupe, out.merge = false, true // Each ending comes once.
	out.exact = out.coversAll(con)
	return &out
}

// beside is the plan for a conjunct that another plan leaves out, where its keys end like that one's; nil when there is none.
func (p *Plan) beside(con *conjunction, at int) *Plan {
	leaf, ok := con.nodes[at].(*filter.Leaf)
	if !ok {
		return nil
	}
	// Of the conditions on one path an index takes one, so the others stay out of its sight.
	nodes := slices.Clone(con.nodes)
	nodes = slices.DeleteFunc(nodes, func(n filter.Node) bool {
		other, ok := n.(*filter.Leaf)
		return ok && other != leaf && other.Path == leaf.Path
	})
	sub := conjunctionOf(nodes)
	var best *Plan
	for _, ix := range p.c.Indexes() {
		k := candidate(p.c, p.q, sub, ix, true)
		if k != nil && k.expresses(leaf) && k.endsAlike(p) && (best == nil || len(k.bounds) > len(best.bounds)) {
			best = k
		}
	}
	if best != nil {
		best.reverse = p.reverse
	}
	return best
}

// endsAlike reports whether what follows the points in the keys of both plans is the same, and stands once for a document.
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
