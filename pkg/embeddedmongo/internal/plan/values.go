package plan

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

const (
	// nearKeys is the number of keys with one value that are read before a seek skips the others.
	nearKeys = 4
	// seekCost is the cost of a seek, in units of reading one key.
	seekCost = 8
	// maxValues bounds the values that replace a search. Each is a span.
	maxValues = 5000
)

// valueScan lists the values of a field that match a regular expression. No bounds of an index express such a search, but often many
// documents share one value: a skip scan reads a few keys of each. The matching values then are points, as those of a list.
type valueScan struct {
	p      *Plan // Fixes all fields before the searched one.
	leaf   *filter.Leaf
	at     int
	it     *pebble.Iterator
	begun  bool
	more   bool // The iterator is on a key that is not tested yet.
	cost   int64
	prefix []byte
	values []value.Value // The matching values; nil once they are too many.
	ids    *members      // The documents that have them; nil when nobody asks for them, or they are too many.
	within bool          // The iterator is on a key with the matching value of prefix.
	test   encodedTest
	counts bool // Count the documents instead.
	n      int64
	grams  *valueGrams // The index of trigrams that lists the values; nil when none does.
}

// scanOf plans the scan for a search of the conjunction; nil when it has none, or no index lists the values.
func (c *conjunction) scanOf(from *storage.Reader, q Query) *valueScan {
	var best *valueScan
	for _, n := range c.nodes {
		leaf, ok := n.(*filter.Leaf)
		if !ok || leaf.Op != filter.Regex {
			continue
		}
		for _, ix := range from.Indexes() {
			if ix.IsID() || !names(ix.Fields, leaf.Path) {
				continue
			}
			p := candidate(from, q, c, ix, true)
			if p == nil || len(p.spans) != 1 || p.fixed() != len(p.bounds) {
				continue
			}
			at := p.position(leaf.Path)
			if at != len(p.bounds) || ix.Fields[at].Desc || best != nil && len(best.p.ix.Fields) <= len(ix.Fields) {
				continue
			}
			best = &valueScan{p: p, leaf: leaf, at: at, values: []value.Value{}, test: testOfText(leaf)}
		}
	}
	if best != nil {
		best.grams = c.valueGrams(from, best)
	}
	return best
}

func names(fields []index.Field, path string) bool {
	for _, f := range fields {
		if f.Path == path {
			return true
		}
	}
	return false
}

// on continues the scan within a view until its cost has grown by a budget. found is false when neither the values nor their documents
// are known: those that matched are too many, or of a type that keys do not decide. The scan is then useless.
func (s *valueScan) on(v *storage.View, budget int64) (done, found bool, err error) {
	if s.grams != nil {
		return s.onGrams(v, budget)
	}
	if !s.begun {
		span := s.p.spans[0]
		if s.it, err = v.Iter(span.lo, span.hi); err != nil {
			return false, false, err
		}
		s.begun, s.more = true, s.it.First()
	}
	for until := s.cost + budget; s.more; {
		if s.cost >= until {
			return false, true, nil
		}
		if s.p.q.Expired != nil {
			if err := s.p.q.Expired(); err != nil {
				return false, false, err
			}
		}
		if s.within {
			s.gather(until)
			if s.ids == nil && s.values == nil && !s.counts {
				return true, false, nil
			}
			continue
		}
		begin, end := s.p.fieldAt(s.it.Key(), s.at)
		s.prefix = append(s.prefix[:0], s.it.Key()[:end]...)
		field := s.prefix[begin:]
		switch s.test(field) {
		case unknown:
			return true, false, nil
		case fails:
			s.pass()
			continue
		case holds:
		}
		if !s.list(field) {
			return true, false, nil
		}
		switch {
		case s.counts, s.ids != nil:
			s.within = true
		case s.values == nil:
			return true, false, nil
		default:
			s.pass()
		}
	}
	return true, true, storage.Error(s.it.Error())
}

// list adds a value that matches to the list, unless they are too many. It returns false for a value that keys do not decide.
func (s *valueScan) list(field []byte) bool {
	if s.values == nil {
		return true
	}
	x, _, ok := value.ReadKey(field, false, nil)
	if s.values = append(s.values, x); len(s.values) > maxValues {
		s.values = nil
	}
	return ok
}

// gather adds or counts the documents with the value that matched, until a cost.
func (s *valueScan) gather(until int64) {
	for s.cost < until {
		s.cost++
		if s.counts {
			s.n++
		} else if s.ids.add(s.p.idOf(s.it.Key())); s.ids.n >= maxMembers {
			s.ids, s.within = nil, false
			s.pass()
			return
		}
		if s.more = s.it.Next(); !s.more || !bytes.HasPrefix(s.it.Key(), s.prefix) {
			s.within = false
			return
		}
	}
}

// pass advances to the next value.
func (s *valueScan) pass() {
	for range nearKeys {
		s.cost++
		if s.more = s.it.Next(); !s.more || !bytes.HasPrefix(s.it.Key(), s.prefix) {
			return
		}
	}
	s.cost += seekCost
	s.more = s.it.SeekGE(successor(s.prefix))
}

// apply returns the conjunction with the values found as points of the search.
func (s *valueScan) apply(con *conjunction) *conjunction {
	out := &conjunction{
		byPath: make(map[string][]predicate, len(con.byPath)), nodes: con.nodes, lists: con.lists, narrow: con.narrow, narrowed: con.narrowed,
	}
	for path, preds := range con.byPath {
		for _, p := range preds {
			if p.leaf == s.leaf {
				p.values = s.values
			}
			out.byPath[path] = append(out.byPath[path], p)
		}
	}
	return out
}

// scanShare is the part of a collection's keys that a scan may cost at most: a scan that fails then costs little beside the walk.
const scanShare = 4

// earlyScan is what the scan for a page may cost before the page begins. Only an index of trigrams lists values in so little. The review of
// the page begins the scan anew.
const earlyScan = 2000

// withValues returns the conjunction with the matching values of a search as points, or itself when it has no search, or the
// values are too many.
func (c *conjunction) withValues(from *storage.Reader, q Query) (*conjunction, error) {
	s := c.scanOf(from, q)
	page := q.Limit > 0 || q.Early
	if s == nil || page && s.grams == nil {
		return c, nil
	}
	budget := from.Count() / scanShare
	if page {
		budget = earlyScan
	}
	v := from.View()
	defer v.Close()
	done, found, err := s.on(v, budget)
	if err != nil || !done || !found {
		return c, err
	}
	return s.apply(c), nil
}

// countSearch counts a filter of equalities and a search by the values of an index, however many match. p is nil when no index lists
// the values, or a key does not decide.
func countSearch(c *storage.Reader, q Query, con *conjunction) (n int64, p *Plan, err error) {
	s := con.scanOf(c, q)
	if s == nil || s.p.ix.Multikey() != 0 || slices.ContainsFunc(con.nodes, func(n filter.Node) bool { return n != s.leaf && !s.p.expresses(n) }) {
		return 0, nil, nil
	}
	s.values, s.counts = nil, true
	v := c.View()
	defer v.Close()
	for done := false; !done && (q.most == 0 || s.n < q.most); {
		var found bool
		if done, found, err = s.on(v, estimatedAfter); !found || err != nil {
			return 0, nil, err
		}
	}
	return s.n, s.p, nil
}
