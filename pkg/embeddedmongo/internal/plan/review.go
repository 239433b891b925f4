package plan

import (
	"errors"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// errOtherPlan means that a reading goes on by another plan.
var errOtherPlan = errors.New("there is a better plan")

// What a review compares by: the cost of reading a key is 1.
const (
	docCost     = 16
	firstReview = 500 * docCost
	// maxSorted bounds what a review lets be sorted in memory.
	maxSorted = 10_000
)

// review is the doubt of a plan that reads in the order asked for and hopes to have enough soon. How many documents match is
// not known beforehand; so whenever it has read twice as much as at the last look, it compares what is still to be read, at the
// rate of matches so far, with reading all that another index has of the filter and sorting that. Such a look reads no more
// keys than were read before, so all in all a reading costs a few times what the better plan alone would have.
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

// reconsider begins anew by another plan, if there is one that is done sooner.
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
			each = 2 // Hardly a document that is read does not match.
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
