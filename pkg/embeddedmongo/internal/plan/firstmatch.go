package plan

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

const (
	// firstMatchTrial is the cost of the first attempt, which precedes the choice of any other plan.
	firstMatchTrial = 300 * docCost
	// firstMatchProbe is the number of matches of another index below which that index is considered first.
	firstMatchProbe = 8192
	// firstMatchDocs is the number of documents after which a scan ends that finds a new value in every second one: then there
	// is little to skip.
	firstMatchDocs = 256
	// checkedDocs is the number of documents between two checks of the time limit.
	checkedDocs = 128
)

// firstMatch lists values of a path by reading the documents of each value until one matches, and skips its others. It reads the
// keys of a value from both ends in turns, because conditions on times often hold for the newest or the oldest documents:
//
//	flow_id = A │ ✗ ✗ ✓ ───── skipped ───── ✗ ✗ │
//	flow_id = B │ ✗ ────────── skipped ───────✓ │
//	flow_id = C │ ✗ ✗ ✗ ✗ ✗ ✗ ✗   ✗ ✗ ✗ ✗ ✗ ✗ ✗ │
//
// A filter that many documents match then costs a few documents of each value. A filter that few documents match would read them all, so the scan
// has a budget. Where another index has the few matches, its keys replace most documents.
type firstMatch struct {
	p       *Plan
	at      int
	set     *distinctValues
	tests   *keyTests
	members *members // All documents that match; nil when they are not known.
	view    *storage.View
	front   *pebble.Iterator
	back    *pebble.Iterator
	left    int64 // Of the budget.
	docs    int
}

// newFirstMatch plans the scan; nil when no index has the path behind points.
func (s *distinctValues) newFirstMatch(c *storage.Reader, q Query, con *conjunction, path string) *firstMatch {
	p := grouping(c, q, con, path)
	if p == nil {
		return nil
	}
	return &firstMatch{p: p, at: p.position(path), set: s, tests: p.keyTests(con)}
}

// grouping is the best plan whose keys are grouped by a path below the points of the filter; nil when there is none.
func grouping(c *storage.Reader, q Query, con *conjunction, path string) (best *Plan) {
	for _, ix := range c.Indexes() {
		if ix.IsID() || !names(ix.Fields, path) || !q.Hint.IsMissing() {
			continue
		}
		p := candidate(c, q, con, ix, true)
		if p == nil || p.fixed() < p.position(path) || p.position(path) < 0 || len(p.spans) == 0 || len(p.spans) > maxSkipped {
			continue
		}
		if best == nil || p.score > best.score {
			p.con, best = con, p
		}
	}
	return best
}

// trial runs the scan at a small cost. done is false when that does not suffice; the values found count all the same. It does not
// begin when it would read documents, and another index has few keys.
func (m *firstMatch) trial(con *conjunction) (done bool, err error) {
	if m.tests == nil || !m.tests.whole {
		if few, _, err := m.fewest(con, firstMatchProbe); few != nil || err != nil {
			return false, err
		}
	}
	return m.run(firstMatchTrial, nil)
}

// instead runs the scan at no more than what reading all matches by another index costs.
func (m *firstMatch) instead(con *conjunction) (done bool, err error) {
	other, n, err := m.fewest(con, maxMembers)
	if err != nil {
		return false, err
	}
	if other == nil {
		return m.run(firstMatchProbe*docCost/2, nil)
	}
	return m.run(int64(n)*docCost, func() error {
		m.members, err = membersOf(m.view, other, n)
		return err
	})
}

// fewest is the plan with the fewest keys, and their number, among those that bind other fields than the scan. It is nil when each
// of them has as many keys as the limit.
func (m *firstMatch) fewest(con *conjunction, limit int) (best *Plan, n int, err error) {
	var others []*Plan
	for _, ix := range m.p.c.Indexes() {
		if k := candidate(m.p.c, m.p.q, con, ix, false); k != nil && len(k.bounds) > 0 && k.bindsBeyond(m.p) {
			others = append(others, k)
		}
	}
	for at := min(probeKeys, limit); best == nil && len(others) > 0; at = min(8*at, limit) {
		least := at
		for _, k := range others {
			if n, err = k.reach(least); err != nil {
				return nil, 0, err
			}
			if n < least {
				best, least = k, n
			}
		}
		if n = least; at == limit {
			break
		}
	}
	return best, n, nil
}

// run executes the scan within a budget. prepare may read keys in the view of the scan.
func (m *firstMatch) run(budget int64, prepare func() error) (done bool, err error) {
	m.view = m.p.c.View()
	defer m.view.Close()
	if prepare != nil {
		if err := prepare(); err != nil {
			return false, err
		}
	}
	m.left, m.docs = budget, 0
	spans := m.p.spans
	for _, it := range []**pebble.Iterator{&m.front, &m.back} {
		if *it, err = m.view.Iter(spans[0].lo, spans[len(spans)-1].hi); err != nil {
			return false, err
		}
	}
	for _, s := range spans {
		for ok := m.front.SeekGE(s.lo); ok && s.contains(m.front.Key()) && !m.set.full(); {
			begin, end := m.p.fieldAt(m.front.Key(), m.at)
			field := bytes.Clone(ascending(m.front.Key()[begin:end], m.p.ix.Fields[m.at].Desc))
			next := successor(m.front.Key()[:end])
			if s.hi != nil && bytes.Compare(s.hi, next) < 0 {
				next = s.hi
			}
			done, err := m.group(field, next)
			if !done || err != nil || m.exhausted() && !m.set.full() {
				return false, err
			}
			if ok = m.front.Valid() && m.front.Next(); ok && bytes.Compare(m.front.Key(), next) < 0 {
				m.left -= seekCost
				ok = m.front.SeekGE(next)
			}
		}
	}
	return true, errors.Join(storage.Error(m.front.Error()), storage.Error(m.back.Error()))
}

// group reads the keys of one value from both ends until a document matches. The front is at the first one. done is false when the
// budget has ended.
func (m *firstMatch) group(field, end []byte) (done bool, err error) {
	for both := false; ; {
		found, err := m.matches(m.front.Key(), field)
		if found || err != nil {
			return true, err
		}
		if !both {
			both = true
			m.left -= seekCost
			if !m.back.SeekLT(end) {
				return true, nil
			}
		} else if !m.back.Prev() {
			return true, nil
		}
		if bytes.Compare(m.back.Key(), m.front.Key()) <= 0 {
			return true, nil
		}
		if found, err = m.matches(m.back.Key(), field); found || err != nil {
			return true, err
		}
		if !m.front.Next() || bytes.Compare(m.front.Key(), m.back.Key()) >= 0 {
			return true, nil
		}
		if m.exhausted() {
			return false, nil
		}
	}
}

// exhausted reports whether the budget has ended, or there is little to skip.
func (m *firstMatch) exhausted() bool {
	return m.left <= 0 || m.docs >= firstMatchDocs && len(m.set.found) > m.docs/2
}

// matches reports whether a value needs no more keys: the document of this one matches, or another one did.
func (m *firstMatch) matches(key, field []byte) (bool, error) {
	if _, found := m.set.found[string(field)]; found {
		return true, nil
	}
	if err := m.set.tick(); err != nil {
		return false, err
	}
	m.left--
	if m.members != nil && !m.members.has(storage.EntryID(key)) {
		return false, nil
	}
	if m.tests != nil {
		switch m.tests.judge(key) {
		case fails:
			return false, nil
		case holds:
			if m.tests.whole && m.set.addKey(field) {
				return true, nil
			}
		case unknown:
		}
	}
	if m.docs++; m.docs%checkedDocs == 0 && m.p.q.Expired != nil {
		if err := m.p.q.Expired(); err != nil {
			return false, err
		}
	}
	m.left -= docCost
	d, err := m.view.Doc(storage.EntryID(key))
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
