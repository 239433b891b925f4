package plan

import (
	"bytes"
	"errors"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// errOtherPlan reports that the rows continue with another plan.
var errOtherPlan = errors.New("plan replaced")

// Costs that a review compares, in units of reading one key.
const (
	// docCost is that of a document out of the order of the keys: often it is in a block that the cache does not have.
	docCost     = 50
	firstReview = 300 * docCost
	// orderedCost is that of a document where the ids of the walk are in order, as ids of a time are: mostly it is in the block of the
	// one before. They are, if at least orderedShare documents have one id out of order, of orderedDocs at least.
	orderedCost  = 16
	orderedShare = 8
	orderedDocs  = 64
	// largeDocs is the number of documents above which the cache of the store has few blocks of a collection. Each document out of
	// order is then a block to decompress.
	largeDocs = 200_000
	largeCost = 100
	// coldDocs is the number of documents above which the cache of the system has few blocks of a collection. Most documents out of
	// the order of the keys are then reads of the disk, of coldCost each.
	coldDocs = 2_000_000
	coldCost = 200
	// scanCost is the cost of a document in the order of a collection scan.
	scanCost = 8
	// searchShare is the cost of a search for values, in units of the cost of the walk beside it. The walk reads documents in vain.
	searchShare = 3
	// maxSorted bounds the rows that a replacement plan may sort in memory.
	maxSorted = 10_000
)

// docCostIn is the cost of a document of a collection with n of them.
func docCostIn(n int64) int64 {
	switch {
	case n > coldDocs:
		return coldCost
	case n > largeDocs:
		return largeCost
	}
	return docCost
}

// locality tells whether the documents that a walk has read are beside each other.
type locality struct {
	last      []byte
	ups, docs int64
}

func (l *locality) read(id []byte) {
	if bytes.Compare(l.last, id) < 0 {
		l.ups++
	}
	l.docs++
	l.last = append(l.last[:0], id...)
}

func (l *locality) ordered() bool {
	return l.docs >= orderedDocs && min(l.ups, l.docs-l.ups)*orderedShare <= l.docs
}

// docCost is the cost of a document of the running walk.
func (r *Rows) docCost() int64 {
	if r.locality.ordered() {
		return orderedCost
	}
	return docCostIn(r.p.c.Count())
}

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
	if p.con == nil || !p.q.Hint.IsMissing() || p.exact || !p.sorted || p.q.Sort == nil || p.q.Limit == 0 || p.q.Skip+p.q.Limit > maxSorted {
		return review{}
	}
	scan := p.con.scanOf(p.c, p.q)
	if scan != nil {
		scan.ids = newMembers(0)
	}
	return review{others: p.others, scan: scan, at: firstReview}
}

func (w *review) due(r *Rows) bool { return w.at > 0 && r.cost() >= w.at }

// cost is what the reading has cost so far.
func (r *Rows) cost() int64 { return r.Keys + r.docCost()*r.Docs }

// choice is the cheapest plan of a review so far.
type choice struct {
	plan   *Plan
	cost   int64
	docs   int64        // The documents that it reads.
	within int64        // The matches that the keys of the plan show, when they filter those of the running plan; 0 when the plan replaces it.
	con    *conjunction // The tests of the keys.
	beyond []*Plan      // Their keys are more than the review reads, and so are those of plans alike.
}

// reconsider restarts with another plan if that one is cheaper.
func (r *Rows) reconsider() (better bool, err error) {
	cost, rows := r.cost(), max(1, r.p.q.Skip+r.p.q.Limit-r.passed)
	r.review.at = 2 * cost
	// A sort that may leave two documents in either order could show one of them twice.
	if last := r.p.q.Sort.Fields[len(r.p.q.Sort.Fields)-1]; r.passed > 0 && last.Path != "_id" {
		return false, nil
	}
	if err := r.search(cost); err != nil {
		return false, err
	}
	left, err := r.remaining(cost, rows)
	if err != nil {
		return false, err
	}
	best := choice{cost: left, con: r.p.con}
	for _, p := range r.review.others {
		if err := r.compare(p, cost, rows, &best); err != nil {
			return false, err
		}
	}
	if all := r.p.c.Count() * scanCost; r.review.scan == nil && all < best.cost {
		best = choice{plan: scan(r.p.c, r.p.q, r.p.con), cost: all, docs: r.p.c.Count()}
	}
	outside, err := r.fewOutside(cost, rows, best.cost)
	if outside != nil {
		r.outsiders, err = outsidersOf(r.view, outside)
	}
	if best.plan == nil || outside != nil || err != nil {
		return false, err
	}
	if best.within > 0 {
		r.members, err = membersOf(r.view, best.plan, int(best.within))
		return false, err
	}
	whole := *best.plan
	whole.sorted, whole.merge, whole.q = false, false, r.p.q
	if whole.con == nil {
		whole.con = r.p.con
	}
	r.review = review{}
	return true, r.begin(&whole)
}

// remaining extrapolates the cost of the remaining rows from the rate of matches so far. The number of keys that remain bounds it: those
// of the collection, or those of the plan if they are few.
func (r *Rows) remaining(cost, rows int64) (int64, error) {
	left, keys := cost*rows/max(r.passed, 1), r.p.c.Count()
	if left > cost {
		n, err := r.p.reach(int(cost))
		if err != nil {
			return 0, err
		}
		if int64(n) < cost {
			keys = int64(n)
		}
	}
	keys = max(0, keys-r.Keys)
	if r.members != nil {
		return min(left, keys+rows*r.docCost()), nil
	}
	return min(left, keys*(cost/max(r.Keys, 1)+1)), nil
}

// compare makes another plan the best one if it costs less: to read and sort all its matches, or to filter the keys of the running plan
// by its keys. It reads no more keys of the plan than the query has cost so far.
func (r *Rows) compare(p *Plan, cost, rows int64, best *choice) error {
	limit := min(cost, best.cost/(1+memberCost))
	n, known, err := p.counted()
	if known && n >= limit || err != nil {
		return err
	}
	matches := n
	if !known || p.keyTests(best.con) != nil {
		if slices.ContainsFunc(best.beyond, p.bindsAlike) {
			return nil
		}
		if n, matches, err = p.survey(best.con, int(limit)); err != nil {
			return storage.Error(err)
		}
		if n >= limit {
			best.beyond = append(best.beyond, p)
			return nil
		}
	}
	if c := p.sortCost(r.p.con, n, matches, rows); c < best.cost {
		best.plan, best.cost, best.docs, best.within = p, c, matches, 0
	}
	if c := r.p.costWithin(n, matches, rows); r.members == nil && matches < maxMembers && c < best.cost {
		best.plan, best.cost, best.within = p, c, matches+1
	}
	return nil
}

// fewOutside is the complement of another plan whose keys exclude documents at a cost below that of the best plan so far; nil when
// there is none. The walk passes each of them at most once, and almost every other document is a row.
func (r *Rows) fewOutside(cost, rows, best int64) (outside *Plan, err error) {
	if r.outsiders != nil || r.members != nil {
		return nil, nil
	}
	each := r.docCost()
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
		if n := int64(n); n < within && n*(memberCost+1)+rows*(each+1) < best {
			outside, best = c, n*(memberCost+1)+rows*(each+1)
		}
	}
	return outside, nil
}

// search continues the scan for the values of a search, at the cost of the reading so far. When it has ended, plans that read the
// documents with these values are alternatives. The documents of too many values filter the keys of the running plan.
func (r *Rows) search(cost int64) error {
	scan := r.review.scan
	if scan == nil {
		return nil
	}
	done, found, err := scan.on(r.view, searchShare*cost)
	if !done || err != nil {
		return err
	}
	if r.review.scan = nil; !found {
		return nil
	}
	if scan.values == nil {
		if r.members == nil {
			r.members = scan.ids
		}
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
