package plan

import (
	"errors"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// errOtherPlan reports that the rows continue with another plan.
var errOtherPlan = errors.New("plan replaced")

// Costs that a review compares, in units of reading one key.
const (
	docCost     = 16
	firstReview = 500 * docCost
	// maxSorted bounds the rows that a replacement plan may sort in memory.
	maxSorted = 10_000
)

// review re-plans a running query that reads in sort order. The number of matches is unknown beforehand. Whenever the
// cost has doubled since the last review, it extrapolates the remaining cost from the rate of matches. It compares that
// with reading and sorting all matches of another index. A review reads no more keys than the query has read, so the
// total cost stays within a small factor of the better plan's.
type review struct {
	others []*Plan
	at     int64
}

func newReview(p *Plan) review {
	if len(p.others) == 0 || p.exact || !p.sorted || p.q.Sort == nil || p.q.Limit == 0 || p.q.Skip+p.q.Limit > maxSorted {
		return review{}
	}
	return review{others: p.others, at: firstReview}
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
	left := cost * (limit - r.passed) / max(r.passed, 1)
	var best *Plan
	for _, p := range r.review.others {
		each := int64(docCost)
		if t := p.keyTests(r.p.con); t != nil && t.whole {
			each = 2 // Almost every document that is read matches.
		}
		within := min(cost, left/each)
		n, err := p.reach(int(within))
		if err != nil {
			return false, storage.Error(err)
		}
		if int64(n) < within {
			best, left = p, int64(n)*each
		}
	}
	if best == nil {
		return false, nil
	}
	whole := *best
	whole.sorted, whole.con, whole.q = false, r.p.con, r.p.q
	r.review = review{}
	return true, r.begin(&whole)
}
