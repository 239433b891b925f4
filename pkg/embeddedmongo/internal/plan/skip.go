package plan

import (
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// skipKeys skips the rows before a page on the keys alone, without the tests that a row of a page takes. Where a counter holds the
// number of all rows, a page of the second half is reached from the end of the list:
//
//	skip ──────────────▶│ page │          few rows before the page
//	                    │ page │◀── total - skip   fewer rows behind it
//
// It leaves plans that read documents, or several ranges in one order, to the rows.
func (r *Rows) skipKeys() error {
	s, ok := r.ks.(*sequence)
	if !ok || r.skip == 0 || !r.p.exact || !r.p.sorted || r.p.dedupe || r.p.ix.IsID() || len(s.spans) != 1 {
		return nil
	}
	total, err := r.p.total()
	if err != nil {
		return err
	}
	skip := r.skip
	r.passed, r.skip = r.passed+skip, 0
	if total > 0 && skip >= total {
		r.left = 0
		return nil
	}
	near := skip
	if total > 0 {
		near = min(near, total-skip)
	}
	if near < skip {
		return r.walk(s, near, !s.reverse)
	}
	// The walk ends on the last skipped row, so the next row is the first of the page.
	return r.walk(s, skip, s.reverse)
}

// total is the number of matches by a counter of any index; 0 where none is kept.
func (p *Plan) total() (int64, error) {
	if p.con == nil {
		return 0, nil
	}
	for _, ix := range p.c.Indexes() {
		k := candidate(p.c, p.q, p.con, ix, true)
		if k == nil || !k.exact || k.dedupe {
			continue
		}
		prefixes, fields := k.prefixes()
		if prefixes == nil {
			continue
		}
		if n, ok, err := k.counters(prefixes, fields); ok || err != nil {
			return n, storage.Error(err)
		}
	}
	return 0, nil
}

// walk moves over n keys from one end of the range. After a walk from the end of the list, the last key is the first of the page.
func (r *Rows) walk(s *sequence, n int64, reverse bool) error {
	var ok bool
	if reverse {
		ok = s.it.Last()
	} else {
		ok = s.it.First()
	}
	step := s.it.Next
	if reverse {
		step = s.it.Prev
	}
	for ; ok && n > 1; n-- {
		if r.Keys++; r.Keys%expiredAfter == 0 && r.p.q.Expired != nil {
			if err := r.p.q.Expired(); err != nil {
				return err
			}
		}
		ok = step()
	}
	s.started, s.held = true, reverse != s.reverse
	switch {
	case ok:
		r.Keys++
	default:
		s.at = len(s.spans) // There are no more rows.
	}
	return storage.Error(s.it.Error())
}
