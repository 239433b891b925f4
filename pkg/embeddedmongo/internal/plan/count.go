package plan

import (
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// expiredAfter is the number of keys a walk reads between two checks of the time limit.
const expiredAfter = 256

// Count counts the matches of a query, within its skip and limit. A walk stops at the limit. how names the method:
//
//	RECORD_STORE_COUNT  the collection's own counter
//	COUNT_SCAN          index keys only
//	FETCH               documents
func Count(c *storage.Reader, q Query) (n int64, how string, p *Plan, err error) {
	skip, limit := q.Skip, q.Limit
	if q.Skip, q.Limit, q.Sort = 0, 0, nil; limit > 0 {
		q.Limit = skip + limit
	}
	if q.Filter.Empty() && q.Hint.IsMissing() {
		n, how = c.Count(), "RECORD_STORE_COUNT"
	} else {
		unlimited := q
		unlimited.Limit = 0 // A limit does not change the plan.
		if p, err = New(c, unlimited); err != nil {
			return 0, "", nil, err
		}
		tests := p.keyTests()
		if how = "FETCH"; p.exact && !p.readsAll() || tests != nil && tests.whole {
			how = "COUNT_SCAN"
		}
		n, err = p.count(q.Limit)
	}
	n = max(0, n-skip)
	if limit > 0 {
		n = min(n, limit)
	}
	return n, how, p, err
}

// readsAll reports whether the plan reads all documents.
func (p *Plan) readsAll() bool { return p.ix.IsID() && len(p.bounds) == 0 }

// count counts the plan's results up to a limit; 0 means none.
func (p *Plan) count(limit int64) (n int64, err error) {
	walk := *p
	walk.merge = p.dedupe && p.adjacent() // Repeated documents are then adjacent, so no set is needed.
	r, err := walk.Run()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for limit == 0 || n < limit {
		_, ok, err := r.fetch(false)
		if !ok || err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// matchesMissing reports whether a leaf holds for documents without its field.
func matchesMissing(l *filter.Leaf) bool {
	return l.Op == filter.Eq && l.Value.IsNullish() || l.Op == filter.In && l.HasNull()
}
