package plan

import (
	"errors"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// errOtherPlan reports that the rows continue with another plan.
var errOtherPlan = errors.New("plan replaced")

// Costs that a review compares, in units of reading one key.
const (
	// docCost is that of a document out of the order of the keys: often it is in a block that the cache does not have.
	docCost     = 50
	firstReview = 300 * docCost
	// maxSorted bounds the rows that a replacement plan may sort in memory.
	maxSorted = 10_000
)

// review re-plans a running query that reads in sort order. The number of matches is unknown beforehand. Whenever the
// cost has doubled since the last review, it extrapolates the remaining cost from the rate of matches. It compares that
// with reading and sorting all matches of another index. A review reads no more keys than the query has read, so the
// total cost stays within a small factor of the better plan's.
type review struct {
	others []*Plan
	scan   *valueScan // Of a search in the filter, until it ends; nil for none.
	at     int64
}

func newReview(p *Plan) review {
	var scan *valueScan
	if p.con != nil && p.q.Hint.IsMissing() {
		scan = p.con.scanOf(p.c, p.q)
	}
	if len(p.others) == 0 && scan == nil || p.exact || !p.sorted || p.q.Sort == nil || p.q.Limit == 0 || p.q.Skip+p.q.Limit > maxSorted {
		return review{}
	}
	return review{others: p.others, scan: scan, at: firstReview}
}

func (w *review) due(r *Rows) bool { return w.at > 0 && r.cost() >= w.at }

func (r *Rows) cost() int64 { return r.Keys + docCost*r.Docs }

// reconsider restarts with another plan if that one is cheaper.
func (r *Rows) reconsider() (better bool, err error) {
	cost, limit := r.cost(), r.p.q.Skip+r.p.q.Limit
	r.review.at = 2 * cost
	// A sort that may leave two documents in either order could show one of them twice.
	if last := r.p.q.Sort.Fields[len(r.p.q.Sort.Fields)-1]; r.passed > 0 && last.Path != "_id" {
		return false, nil
	}
	if err := r.search(cost); err != nil {
		return false, err
	}
	left := cost * (limit - r.passed) / max(r.passed, 1)
	if r.members != nil { // The keys that remain bound the cost.
		left = min(left, max(0, r.p.c.Count()-r.Keys)+(limit-r.passed)*docCost)
	}
	var best *Plan
	filtered := 0 // The keys of the best plan when they filter those of this plan; 0 when the best plan replaces it.
	for _, p := range r.review.others {
		each := int64(docCost)
		if t := p.keyTests(r.p.con); t != nil && t.whole {
			each = 2 // Almost every document that is read matches.
		}
		n, err := p.reach(int(min(cost, left/memberCost)))
		if err != nil {
			return false, storage.Error(err)
		}
		if int64(n) >= min(cost, left/memberCost) {
			continue
		}
		if c := int64(n) * each; c < left {
			best, left, filtered = p, c, 0
		}
		if c := r.p.costWithin(int64(n), limit-r.passed); r.members == nil && n < maxMembers && c < left {
			best, left, filtered = p, c, n+1
		}
	}
	outside, err := r.fewOutside(cost, limit-r.passed, left)
	if outside != nil {
		r.outsiders, err = outsidersOf(r.view, outside)
	}
	if best == nil || outside != nil || err != nil {
		return false, err
	}
	if filtered > 0 {
		r.members, err = membersOf(r.view, best, filtered)
		return false, err
	}
	whole := *best
	whole.sorted, whole.con, whole.q = false, r.p.con, r.p.q
	r.review = review{}
	return true, r.begin(&whole)
}

// fewOutside is the complement of another plan whose keys exclude documents at a cost below that of the best plan so far; nil when
// there is none. The walk passes each of them at most once, and almost every other document is a row.
func (r *Rows) fewOutside(cost, rows, best int64) (outside *Plan, err error) {
	if r.outsiders != nil || r.members != nil {
		return nil, nil
	}
	for _, p := range r.review.others {
		c := p.complement()
		if c == nil {
			continue
		}
		within := min(cost, maxOutsiders)
		n, err := c.reach(int(within))
		if err != nil {
			return nil, storage.Error(err)
		}
		if n := int64(n); n < within && n*(memberCost+1)+rows*(docCost+1) < best {
			outside, best = c, n*(memberCost+1)+rows*(docCost+1)
		}
	}
	return outside, nil
}

// search continues the scan for the values of a search, at the cost of the reading so far. When it has ended, plans that read the
// documents with these values are alternatives.
func (r *Rows) search(cost int64) error {
	scan := r.review.scan
	if scan == nil {
		return nil
	}
	done, found, err := scan.on(r.view, cost)
	if !done || err != nil {
		return err
	}
	if r.review.scan = nil; !found {
		return nil
	}
	con := scan.apply(r.p.con)
	for _, ix := range r.p.c.Indexes() {
		if p := candidate(r.p.c, r.p.q, con, ix, false); p != nil && p.expresses(scan.leaf) {
			r.review.others = append(r.review.others, p)
		}
	}
	return nil
}
