package plan

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

const (
	// firstMatchProbe bounds the keys that are counted to estimate the alternative of reading all matches.
	firstMatchProbe = 8192
	// firstMatchTrial is the number of documents after which a scan ends that finds a new value in every second one: then there
	// is little to skip.
	firstMatchTrial = 256
)

// firstMatch lists values of a path by reading the documents of each value until one matches, and skips its others:
//
//	flow_id = A │ ✗ ✗ ✓ ───── skipped ─────▶
//	flow_id = B │ ✓ ───────── skipped ─────▶
//	flow_id = C │ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ │
//
// A filter that many documents match then costs a few documents of each value. One that few match would read them all, so the scan
// has a budget: half of what reading all matches by the chosen plan costs.
type firstMatch struct {
	p     *Plan
	at    int
	set   *distinctValues
	tests *keyTests
	view  *storage.View
	it    *pebble.Iterator
	left  int64 // Of the budget.
	docs  int
}

// readFirst adds the values of the matches that the chosen plan would read. p is nil when no index has the path behind points, or the
// scan exceeds its budget; the set is then empty again.
func (s *distinctValues) readFirst(chosen *Plan, con *conjunction, path string) (p *Plan, err error) {
	if p = grouping(chosen, con, path); p == nil {
		return nil, nil
	}
	n, err := chosen.reach(firstMatchProbe)
	if err != nil {
		return nil, err
	}
	v, err := p.c.View()
	if err != nil {
		return nil, err
	}
	defer v.Close()
	m := &firstMatch{p: p, at: p.position(path), set: s, tests: p.keyTests(con), view: v, left: int64(n) * docCost / 2}
	done, err := m.run()
	if !done || err != nil {
		clear(s.found)
		return nil, err
	}
	return p, nil
}

// grouping is the best plan whose keys are grouped by a path below the points of the filter; nil when there is none.
func grouping(chosen *Plan, con *conjunction, path string) (best *Plan) {
	for _, ix := range chosen.c.Indexes() {
		if ix.IsID() || !names(ix.Fields, path) || !chosen.q.Hint.IsMissing() {
			continue
		}
		p := candidate(chosen.c, chosen.q, con, ix, true)
		if p == nil || p.fixed() < p.position(path) || p.position(path) < 0 || len(p.spans) == 0 || len(p.spans) > maxSkipped {
			continue
		}
		if best == nil || p.score > best.score {
			p.con, best = con, p
		}
	}
	return best
}

func (m *firstMatch) run() (done bool, err error) {
	spans := m.p.spans
	if m.it, err = m.view.Iter(spans[0].lo, spans[len(spans)-1].hi); err != nil {
		return false, err
	}
	for _, s := range spans {
		for ok := m.it.SeekGE(s.lo); ok && s.contains(m.it.Key()) && !m.set.full(); {
			if m.left <= 0 || m.docs == firstMatchTrial && len(m.set.found) > firstMatchTrial/2 {
				return false, nil
			}
			if err := m.set.tick(); err != nil {
				return false, err
			}
			begin, end := m.p.fieldAt(m.it.Key(), m.at)
			next := successor(m.it.Key()[:end])
			found, err := m.matches(ascending(m.it.Key()[begin:end], m.p.ix.Fields[m.at].Desc))
			if err != nil {
				return false, err
			}
			m.left--
			if ok = m.it.Next(); ok && found && bytes.Compare(m.it.Key(), next) < 0 {
				m.left -= seekCost
				ok = m.it.SeekGE(next)
			}
		}
	}
	return true, storage.Error(m.it.Error())
}

// matches reports whether the value of the current key needs no more keys: its document matches, or another one did.
func (m *firstMatch) matches(field []byte) (bool, error) {
	if _, found := m.set.found[string(field)]; found {
		return true, nil
	}
	if m.tests != nil {
		switch m.tests.judge(m.it.Key()) {
		case fails:
			return false, nil
		case holds:
			if m.tests.whole && m.set.addKey(field) {
				return true, nil
			}
		case unknown:
		}
	}
	m.docs++
	m.left -= docCost
	d, err := m.view.Doc(storage.EntryID(m.it.Key()))
	if d == nil || err != nil {
		return false, err
	}
	ok, err := m.p.q.Filter.Match(d)
	if !ok || err != nil {
		return false, err
	}
	if !m.set.addKey(field) {
		m.set.addFrom(d)
	}
	_, found := m.set.found[string(field)]
	return found, nil
}
