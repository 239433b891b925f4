package plan

import (
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// countersAfter is the number of keys that a count may walk before its prefix length is counted from then on.
const countersAfter = 1000

// Count counts the matches of a query, within its skip and limit. how names the way: RECORD_STORE_COUNT (the collection's own
// counter), COUNT_COUNTER (a counter of an index prefix), COUNT_SCAN (index keys only) or FETCH (documents).
func Count(c *storage.Collection, q Query) (n int64, how string, p *Plan, err error) {
	skip, limit := q.Skip, q.Limit
	q.Skip, q.Limit, q.Sort = 0, 0, nil
	defer func() {
		n = max(0, n-skip)
		if limit > 0 {
			n = min(n, limit)
		}
	}()
	if q.Filter.Empty() {
		return c.Count(), "RECORD_STORE_COUNT", nil, nil
	}
	con := conjoin(q.Filter)
	if p = covering(c, q, con); p == nil {
		if p, err = New(c, q); err != nil {
			return 0, "", nil, err
		}
	}
	prefix, fields := p.equalPrefix()
	if p.exact && prefix != nil {
		n, ok, err := c.PrefixCount(p.ix, fields, prefix)
		if ok || err != nil {
			return n, "COUNT_COUNTER", p, err
		}
	}
	r, err := p.Run()
	if err != nil {
		return 0, "", nil, err
	}
	for {
		_, ok, err := r.fetch(false)
		if err != nil {
			r.Close()
			return 0, "", nil, err
		}
		if !ok {
			break
		}
		n++
	}
	if err := r.Close(); err != nil {
		return 0, "", nil, err
	}
	if !p.exact {
		return n, "FETCH", p, nil
	}
	if prefix != nil && r.Keys > countersAfter {
		if err := c.CountPrefixes(p.ix, fields); err != nil {
			return 0, "", nil, err
		}
	}
	return n, "COUNT_SCAN", p, nil
}

// covering is the best plan whose bounds are the whole filter; nil when there is none.
func covering(c *storage.Collection, q Query, con *conjunction) *Plan {
	if !q.Hint.IsMissing() {
		return nil
	}
	var best *Plan
	for _, ix := range c.Indexes() {
		p := candidate(c, q, con, ix, false)
		if p == nil || !p.exact || len(p.bounds) == 0 {
			continue
		}
		_, fields := p.equalPrefix()
		if best == nil || p.score > best.score || (p.score == best.score && fields > 0 && !p.dedupe && best.dedupe) {
			best = p
		}
	}
	return best
}

// equalPrefix is the encoded prefix of a plan that is nothing but equalities on an index's leading fields.
func (p *Plan) equalPrefix() ([]byte, int) {
	if p.ix.IsID() || len(p.bounds) == 0 || len(p.spans) != 1 {
		return nil, 0
	}
	for _, b := range p.bounds {
		if !b.equal {
			return nil, 0
		}
	}
	return p.spans[0].lo[storage.IndexHeader:], len(p.bounds)
}
