package plan

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// keys walks the keys within a plan's spans in the plan's order.
type keys interface {
	// next advances; false at the end or on an error, which err returns.
	next() bool
	key() []byte
	// value is the bytes stored under the key.
	value() ([]byte, error)
	err() error
}

// sequence reads the spans one after another with one iterator. A key of the iterator shows which spans before it are empty, so these
// cost no seek.
type sequence struct {
	it      *pebble.Iterator
	spans   []span
	reverse bool
	at      int
	started bool
}

func (s *sequence) next() bool {
	for s.at < len(s.spans) {
		if !s.move() {
			return false // The rest is empty, or the iterator has failed.
		}
		s.started = false
		for key := s.it.Key(); s.at < len(s.spans); s.at++ {
			sp := s.span()
			if s.started = sp.contains(key); s.started {
				return true
			}
			if sp.below(key) == s.reverse {
				break // The key is before the span.
			}
		}
	}
	return false
}

// span is the current span.
func (s *sequence) span() span {
	if s.reverse {
		return s.spans[len(s.spans)-1-s.at]
	}
	return s.spans[s.at]
}

// move moves the iterator to the next key within the current span. For a span that has not started it seeks the first key of the span.
func (s *sequence) move() bool {
	sp := s.span()
	switch {
	case s.started && s.reverse:
		return s.it.Prev()
	case s.started:
		return s.it.Next()
	case s.reverse && sp.hi == nil:
		return s.it.Last()
	case s.reverse:
		return s.it.SeekLT(sp.hi)
	default:
		return s.it.SeekGE(sp.lo)
	}
}

func (s *sequence) key() []byte            { return s.it.Key() }
func (s *sequence) value() ([]byte, error) { return s.it.ValueAndErr() }
func (s *sequence) err() error             { return s.it.Error() }

// open starts reading the plan's keys in a view.
func (p *Plan) open(v *storage.View) (keys, error) {
	if p.merge {
		return p.openMerged(v)
	}
	if len(p.spans) == 0 {
		it, err := v.Docs()
		return &sequence{it: it}, err
	}
	it, err := v.Iter(p.spans[0].lo, p.spans[len(p.spans)-1].hi)
	if err != nil {
		return nil, err
	}
	return &sequence{it: it, spans: p.spans, reverse: p.reverse}, nil
}

// idOf is the encoded _id that a key stands for.
func (p *Plan) idOf(key []byte) []byte {
	if p.ix.IsID() {
		return key[storage.DocHeader:]
	}
	return storage.EntryID(key)
}
