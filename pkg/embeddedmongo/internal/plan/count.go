package plan

import (
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// countersAfter is the number of keys a count may walk before counters are kept for its prefix length.
const countersAfter = 1000

// rangedAfter is the threshold for a range below a prefix, where a counter only spares the larger part of the walk.
const rangedAfter = 10_000

// expiredAfter is the number of keys a walk reads between two checks of the time limit.
const expiredAfter = 1024

// Count counts the matches of a query, within its skip and limit. A walk stops at the limit. how names the method:
//
//	RECORD_STORE_COUNT  the collection's own counter
//	COUNT_COUNTER       a counter of an index prefix
//	COUNT_SCAN          index keys only
//	COUNT_DIFFERENCE    two such counts
//	COUNT_COMMON        keys of several ranges
//	COUNT_MATCHING      index keys, read
//	FETCH               documents
func Count(c *storage.Reader, q Query) (n int64, how string, p *Plan, err error) {
	skip, limit := q.Skip, q.Limit
	q.Skip, q.Limit, q.Sort = 0, 0, nil
	if limit > 0 {
		q.most = skip + limit
	}
	defer func() {
		n = max(0, n-skip)
		if limit > 0 {
			n = min(n, limit)
		}
	}()
	if q.Filter.Empty() && q.Hint.IsMissing() {
		return c.Count(), "RECORD_STORE_COUNT", nil, nil
	}
	con := conjoin(q.Filter)
	if n, how, p, err = countCovered(c, q, con); p != nil || err != nil {
		return n, how, p, err
	}
	if n, p, err = countDifference(c, q, con); p != nil || err != nil {
		return n, "COUNT_DIFFERENCE", p, err
	}
	if p = countable(c, q, con); p != nil {
		n, err = p.countRows()
		return n, "COUNT_COMMON", p, err
	}
	if q.Hint.IsMissing() {
		if n, p, err = countSearch(c, q, con); p != nil || err != nil {
			return n, "COUNT_SCAN", p, err
		}
		searched, err := con.withValues(c, q)
		if err != nil {
			return 0, "", nil, err
		}
		if p = covering(c, q, searched); searched != con && p != nil {
			n, _, err = p.countKeys()
			return n, "COUNT_SCAN", p, err
		}
		con = searched
	}
	chosen, err := newPlan(c, q, con)
	if err != nil {
		return 0, "", nil, err
	}
	if n, p, err = countMatching(c, q, con, chosen); p != nil || err != nil {
		return n, "COUNT_MATCHING", p, err
	}
	n, err = chosen.countRows()
	return n, "FETCH", chosen, err
}

// countCovered counts by a covering index; p is nil when there is none.
func countCovered(c *storage.Reader, q Query, con *conjunction) (n int64, how string, p *Plan, err error) {
	if p = covering(c, q, con); p == nil {
		return 0, "", nil, nil
	}
	prefixes, fields := p.prefixes()
	if prefixes != nil {
		n, ok, err := p.counters(prefixes, fields)
		if ok || err != nil {
			return n, "COUNT_COUNTER", p, err
		}
	}
	n, keys, err := p.countKeys()
	if err != nil {
		return 0, "", nil, err
	}
	after := int64(countersAfter)
	if prefixes == nil {
		fields, after = p.rangedFields(), rangedAfter
	}
	stopped := q.most > 0 && n >= q.most // Counters would cost a walk of the whole index, which the limit spares.
	if fields > 0 && keys > after && !stopped {
		c.KeepPrefixCounts(p.ix, fields)
	}
	return n, "COUNT_SCAN", p, nil
}

// countDifference counts a filter with a negation as a difference: the matches of the other conditions minus those that also match
// the negated one. Covering indexes count both. A negated condition that holds for missing fields is counted among the documents with
// the field, so partial indexes serve. p is the plan of the minuend; nil when either has no covering index.
func countDifference(c *storage.Reader, q Query, con *conjunction) (n int64, p *Plan, err error) {
	q.most = 0 // Either may be larger than the difference.
	for i, node := range con.nodes {
		others := slices.Delete(slices.Clone(con.nodes), i, i+1)
		if leaf, ok := node.(*filter.Leaf); ok && matchesMissing(leaf) && leaf.Op == filter.Eq {
			present, p, err := countPresent(c, q, con, others, leaf)
			if p == nil || err != nil {
				return 0, nil, err
			}
			all, _, p, err := countCovered(c, q, con.subset(others))
			return max(0, all-present), p, err
		}
		not, ok := node.(filter.Not)
		if !ok {
			continue
		}
		if leaf, ok := not.Node.(*filter.Leaf); ok && matchesMissing(leaf) {
			if n, p, err = countPresent(c, q, con, others, leaf); p != nil || err != nil {
				return n, p, err
			}
		}
		out, _, excluded, err := countCovered(c, q, con.subset(append(slices.Clone(others), not.Node)))
		if excluded == nil || err != nil {
			return 0, nil, err
		}
		all, _, p, err := countCovered(c, q, con.subset(others))
		return max(0, all-out), p, err
	}
	return 0, nil, nil
}

// countPresent counts the documents that have the field of a leaf, and do not match the leaf.
func countPresent(c *storage.Reader, q Query, con *conjunction, others filter.And, leaf *filter.Leaf) (n int64, p *Plan, err error) {
	within := append(slices.Clone(others), leaf.Present())
	out, _, excluded, err := countCovered(c, q, con.subset(append(slices.Clone(within), leaf)))
	if excluded == nil || err != nil {
		return 0, nil, err
	}
	all, _, p, err := countCovered(c, q, con.subset(within))
	return max(0, all-out), p, err
}

// matchesMissing reports whether a leaf holds for documents without its field.
func matchesMissing(l *filter.Leaf) bool {
	return l.Op == filter.Eq && l.Value.IsNullish() || l.Op == filter.In && l.HasNull()
}

// countRows counts by executing the plan.
func (p *Plan) countRows() (n int64, err error) {
	r, err := p.Run()
	if err != nil {
		return 0, err
	}
	for {
		if p.q.most > 0 && n == p.q.most {
			return n, r.Close()
		}
		_, ok, err := r.fetch(false)
		if err != nil {
			r.Close()
			return 0, err
		}
		if !ok {
			return n, r.Close()
		}
		n++
	}
}

// covering is the best plan whose bounds express the whole filter; nil when there is none.
func covering(c *storage.Reader, q Query, con *conjunction) *Plan {
	list := c.Indexes()
	if hinted, err := hint(list, q.Hint); hinted != nil {
		list = []*storage.Index{hinted}
	} else if err != nil {
		return nil // The choice of a plan returns it.
	}
	var best *Plan
	for _, ix := range list {
		p := candidate(c, q, con, ix, false)
		if p == nil || !p.exact || len(p.bounds) == 0 {
			continue
		}
		_, fields := p.prefixes()
		if best == nil || p.score > best.score || (p.score == best.score && fields > 0 && !p.dedupe && best.dedupe) {
			best = p
		}
	}
	return best
}

// countable is a plan that, intersected with others, expresses the whole filter by keys; nil when there is none.
func countable(c *storage.Reader, q Query, con *conjunction) *Plan {
	if !q.Hint.IsMissing() {
		return nil
	}
	var best *Plan
	for _, ix := range c.Indexes() {
		p := candidate(c, q, con, ix, false)
		if p == nil || len(p.bounds) == 0 || (best != nil && p.score <= best.score) {
			continue
		}
		if p = p.withCommon(con); len(p.also) == 0 {
			continue
		}
		if t := p.keyTests(con); p.exact || t != nil && t.whole {
			p.con, best = con, p
		}
	}
	return best
}

// maxCounters bounds the prefix counters that one count adds.
const maxCounters = 64

// prefixes are the encoded prefixes of a plan of equalities and lists on an index's leading fields. No document is below two of
// them.
func (p *Plan) prefixes() (list [][]byte, fields int) {
	if p.ix.IsID() || !p.points() || len(p.spans) == 0 || len(p.spans) > maxCounters || (len(p.spans) > 1 && p.dedupe) {
		return nil, 0
	}
	for _, s := range p.spans {
		list = append(list, s.lo[storage.IndexHeader:])
	}
	return list, len(p.bounds)
}

// counters adds the counters of the prefixes; ok is false when no index has counters of that prefix length and these fields.
func (p *Plan) counters(prefixes [][]byte, fields int) (n int64, ok bool, err error) {
	if n, ok, err = p.countersOf(p.ix, prefixes, fields); ok || err != nil {
		return n, ok, err
	}
	for _, ix := range p.c.Indexes() {
		if ix == p.ix || !sameLead(ix, p.ix, fields) {
			continue
		}
		if n, ok, err = p.countersOf(ix, prefixes, fields); ok || err != nil {
			return n, ok, err
		}
	}
	return 0, false, nil
}

func (p *Plan) countersOf(ix *storage.Index, prefixes [][]byte, fields int) (n int64, ok bool, err error) {
	counts, ok, err := p.c.PrefixCounts(ix, fields, prefixes)
	for _, k := range counts {
		n += k
	}
	return n, ok, err
}

// sameLead reports whether two indexes have the same documents, and the same encoding of their first n fields.
func sameLead(a, b *storage.Index, n int) bool {
	same := func(x, y index.Field) bool { return x.Path == y.Path && x.Desc == y.Desc }
	return len(a.Fields) >= n && len(b.Fields) >= n && slices.EqualFunc(a.Fields[:n], b.Fields[:n], same) &&
		a.Partial == nil && b.Partial == nil && !a.Spec.Sparse && !b.Spec.Sparse && (a.Multikey()|b.Multikey())&(1<<n-1) == 0
}
