package plan

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// valueGrams lists the values of a text that may match a search, by an index of trigrams.
type valueGrams struct {
	narrowing

	posted posted
	found  buckets
	from   []byte // The next value is not before it; nil for the first one.
}

// valueGrams returns the search that lists the values of a scan; nil when there is none.
func (c *conjunction) valueGrams(from *storage.Reader, s *valueScan) *valueGrams {
	for _, ix := range from.GramIndexes() {
		if ix.Grams.Chunks || ix.Grams.Texts[0].Path != s.leaf.Path || !samePaths(ix.Before(), s.p.ix.Fields[:s.at]) {
			continue
		}
		fields, ok := c.equalities(ix.Before())
		if t := literals(s.leaf, mostGrams); ok && t != nil {
			return &valueGrams{narrowing: narrowing{ix: ix, fields: fields, term: t}}
		}
	}
	return nil
}

func samePaths(a, b []index.Field) bool {
	for i := range a {
		if i == len(b) || a[i].Path != b[i].Path || b[i].Desc {
			return false
		}
	}
	return len(a) == len(b)
}

// onGrams is on by an index of trigrams: it reads none of the values without the trigrams, and the keys of a value only to gather or count
// its documents.
func (s *valueScan) onGrams(v *storage.View, budget int64) (done, found bool, err error) {
	g := s.grams
	if !s.begun {
		g.posted = posted{view: v, expired: s.p.q.Expired}
		if g.found, err = g.posted.open(s.p.c, g.ix, g.fields, g.term); err != nil {
			return false, false, err
		}
		span := s.p.spans[0]
		if s.it, err = v.Iter(span.lo, span.hi); err != nil {
			return false, false, err
		}
		s.begun = true
	}
	for until := s.cost + budget; ; {
		if s.cost >= until {
			return false, true, nil
		}
		if s.within {
			s.gather(until)
			if s.ids == nil && s.values == nil && !s.counts {
				return true, false, nil
			}
			continue
		}
		steps := g.posted.steps
		field := g.found.reach(g.from)
		s.cost += g.posted.steps - steps
		if field == nil {
			return true, true, g.posted.failed
		}
		switch s.test(field) {
		case unknown:
			return true, false, nil
		case holds:
			if !s.list(field) || !s.counts && s.ids == nil && s.values == nil {
				return true, false, nil
			}
			if s.counts || s.ids != nil {
				s.within = s.enter(field)
			}
		case fails:
		}
		if err := storage.Error(s.it.Error()); err != nil {
			return false, false, err
		}
		g.from = append(append(g.from[:0], field...), 0)
	}
}

// enter moves to the first key of a value; false when no document has it any more.
func (s *valueScan) enter(field []byte) bool {
	s.cost += seekCost
	s.prefix = append(append(s.prefix[:0], s.p.spans[0].lo...), field...)
	return seekPrefix(s.it, s.prefix)
}

func seekPrefix(it *pebble.Iterator, prefix []byte) bool {
	return it.SeekGE(prefix) && len(it.Key()) >= len(prefix) && string(it.Key()[:len(prefix)]) == string(prefix)
}
