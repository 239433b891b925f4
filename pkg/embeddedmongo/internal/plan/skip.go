package plan

import (
	"bytes"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// dividedAfter is the number of keys from which a walk looks for blocks of keys, and divides the index if there are none.
const dividedAfter = 20_000

// skipKeys skips the rows before a page on the keys alone, without the tests that a row of a page takes. Where a counter holds the
// number of all rows, a page of the second half is reached from the end of the list:
//
//	skip ──────────────▶│ page │          few rows before the page
//	                    │ page │◀── total - skip   fewer rows behind it
//
// A long way leads over blocks of keys. It leaves plans that read documents, or several ranges in one order, to the rows.
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
	if near > dividedAfter {
		if b, ok := r.p.c.Blocks(r.p.ix, storage.Range{Lo: s.spans[0].lo, Hi: s.spans[0].hi}); ok && len(b.Starts) > 0 {
			return r.leap(s, b, skip)
		}
		r.p.c.Divide(r.p.ix)
	}
	if near < skip {
		return r.walk(s, near, !s.reverse)
	}
	// The walk ends on the last skipped row, so the next row is the first of the page.
	return r.walk(s, skip, s.reverse)
}

// total is the number of matches by a counter of any index; 0 where none is kept. It may include a write that the rows do not see
// yet, as an offset has no defined place among concurrent writes.
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
	case s.held: // There are fewer rows than the counter says: the page begins with the first one.
		s.started, s.held = false, false
	default:
		s.at = len(s.spans) // There are no more rows.
	}
	return storage.Error(s.it.Error())
}

// leap moves over n keys of the range: one by one at its end, then block by block, then one by one within a block. The iterator then is on
// the first row of the page.
func (r *Rows) leap(s *sequence, b storage.Blocks, n int64) error {
	last := len(b.Starts) - 1
	ok, step, inside := s.it.First(), s.it.Next, func() bool { return bytes.Compare(s.it.Key(), b.Starts[0]) < 0 }
	if s.reverse {
		ok, step, inside = s.it.Last(), s.it.Prev, func() bool { return bytes.Compare(s.it.Key(), b.End) >= 0 }
	}
	ok, n, err := r.pass(ok, n, step, inside)
	if err != nil {
		return err
	}
	if n > 0 {
		i := 0
		for ; i <= last; i++ {
			k := i
			if s.reverse {
				k = last - i
			}
			if b.Counts[k] > n {
				break
			}
			n -= b.Counts[k]
		}
		switch ends := append(b.Starts[:last+1:last+1], b.End); {
		case s.reverse:
			ok = s.it.SeekLT(ends[last+1-i])
		default:
			ok = s.it.SeekGE(ends[i])
		}
		if ok, _, err = r.pass(ok, n, step, func() bool { return true }); err != nil {
			return err
		}
	}
	if s.started, s.held = ok, ok; !ok {
		s.at = len(s.spans) // There are no more rows.
	}
	return storage.Error(s.it.Error())
}

// pass steps over up to n keys while a condition holds, and returns how many are left.
func (r *Rows) pass(ok bool, n int64, step, condition func() bool) (more bool, left int64, err error) {
	for ; ok && n > 0 && condition(); n-- {
		if r.Keys++; r.Keys%expiredAfter == 0 && r.p.q.Expired != nil {
			if err := r.p.q.Expired(); err != nil {
				return false, n, err
			}
		}
		ok = step()
	}
	return ok, n, nil
}
