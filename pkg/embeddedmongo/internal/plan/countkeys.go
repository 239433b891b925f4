package plan

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// countKeys counts the documents within an exact plan's spans by their keys alone. keys is the number of keys read.
func (p *Plan) countKeys() (n, keys int64, err error) {
	if p.dedupe {
		q := *p
		q.merge = q.merge || q.adjacent() // Repeated documents are then adjacent, so no set is needed.
		n, err = q.countRows()
		return n, n, err
	}
	if len(p.spans) == 0 {
		return 0, 0, nil
	}
	v := p.c.View()
	defer v.Close()
	it, err := v.Iter(p.spans[0].lo, p.spans[len(p.spans)-1].hi)
	if err != nil {
		return 0, 0, err
	}
	if p.looksUp() {
		return p.countLookups(it)
	}
	for _, s := range p.spans {
		w := walk{it: it, expired: p.q.Expired}
		if p.q.most > 0 {
			if w.most = p.q.most - n; w.most <= 0 {
				break
			}
		}
		w.begin(s.lo, s.hi)
		inside, read, err := p.countSpan(v, s, &w)
		if err != nil {
			return 0, 0, err
		}
		n, keys = n+inside, keys+read
	}
	return n, keys, nil
}

// countLookups counts the spans that have a key. Seeks in ascending order cost less than the bounds of a walk.
func (p *Plan) countLookups(it *pebble.Iterator) (n, keys int64, err error) {
	for i, s := range p.spans {
		if i%expiredAfter == expiredAfter-1 && p.q.Expired != nil {
			if err := p.q.Expired(); err != nil {
				return 0, 0, err
			}
		}
		if it.SeekGE(s.lo) && s.contains(it.Key()) {
			if n++; n == p.q.most {
				break
			}
		}
	}
	return n, n, storage.Error(it.Error())
}

// countSpan counts the keys of one span. Where a counter holds the number of keys of the whole prefix, it walks the range and its
// complement in turns and stops when either ends. The cost is that of the smaller part.
func (p *Plan) countSpan(v *storage.View, s span, inside *walk) (n, keys int64, err error) {
	const ahead = 4 * expiredAfter
	if done, err := inside.on(ahead); done || err != nil {
		return inside.n, inside.n, err
	}
	fields := p.rangedFields()
	if fields == 0 {
		_, err = inside.on(-1)
		return inside.n, inside.n, err
	}
	prefix := s.lo[:s.at]
	totals, counted, err := p.c.PrefixCounts(p.ix, fields, [][]byte{prefix[storage.IndexHeader:]})
	if !counted || err != nil {
		if err == nil {
			_, err = inside.on(-1)
		}
		return inside.n, inside.n, err
	}
	outside := [2]walk{{expired: p.q.Expired}, {expired: p.q.Expired}}
	for i, bounds := range [2][2][]byte{{prefix, s.lo}, {s.hi, successor(prefix)}} {
		if outside[i].it, err = v.Iter(bounds[0], bounds[1]); err != nil {
			return 0, 0, err
		}
		outside[i].begin(bounds[0], bounds[1])
	}
	for {
		done, err := inside.on(expiredAfter)
		if done || err != nil {
			return inside.n, inside.n, err
		}
		all := true
		for i := range outside {
			done, err := outside[i].on(expiredAfter)
			if err != nil {
				return 0, 0, err
			}
			all = all && done
		}
		if all {
			out := outside[0].n + outside[1].n
			return totals[0] - out, inside.n + out, nil
		}
	}
}

// rangedFields is the number of fields before the final range of a plan; 0 when the plan has no final range.
func (p *Plan) rangedFields() int {
	last := len(p.bounds) - 1
	if p.ix.IsID() || p.dedupe || last < 1 || p.bounds[last].points != nil {
		return 0
	}
	return last
}

// adjacent reports whether the entries of a document are adjacent when the spans are merged. They are when all multikey fields are
// fixed by points, because the suffixes are then equal.
func (p *Plan) adjacent() bool {
	return p.points() && len(p.spans) <= maxMerge && p.ix.Multikey()>>len(p.bounds) == 0
}

// walk counts keys between two bounds in increments.
type walk struct {
	it      *pebble.Iterator
	expired func() error
	n, most int64 // The walk ends at most keys; 0 means none.
	at      bool  // The iterator is on a key that is not counted yet.
}

func (w *walk) begin(lo, hi []byte) {
	if hi != nil && bytes.Compare(lo, hi) >= 0 {
		return // The range is empty.
	}
	w.it.SetBounds(lo, hi)
	w.at = w.it.First()
}

// full reports whether the walk has counted as many keys as it may.
func (w *walk) full() bool { return w.most > 0 && w.n >= w.most }

// on counts up to n more keys, all if n is negative; done reports the end of the range.
func (w *walk) on(keys int) (done bool, err error) {
	for ; w.at && keys != 0 && !w.full(); keys-- {
		if w.n++; w.n%expiredAfter == 0 && w.expired != nil {
			if err := w.expired(); err != nil {
				return false, err
			}
		}
		w.at = w.it.Next()
	}
	if w.at && !w.full() {
		return false, nil
	}
	return true, storage.Error(w.it.Error())
}
