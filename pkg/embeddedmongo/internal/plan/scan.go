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

// sequence reads the spans one after another with one iterator.
type sequence struct {
	it      *pebble.Iterator
	spans   []span
	reverse bool
	at      int
	started bool
}

func (s *sequence) next() bool {
	for s.at < len(s.spans) {
		sp := s.spans[s.at]
		if s.reverse {
			sp = s.spans[len(s.spans)-1-s.at]
		}
		var ok bool
		switch {
		case s.started && s.reverse:
			ok = s.it.Prev()
		case s.started:
			ok = s.it.Next()
		case s.reverse && sp.hi == nil:
			ok = s.it.Last()
		case s.reverse:
			ok = s.it.SeekLT(sp.hi)
		default:
			ok = s.it.SeekGE(sp.lo)
		}
		s.started = true
		if ok && sp.contains(s.it.Key()) {
			return true
		}
		if s.it.Error() != nil {
			return false
		}
		s.at, s.started = s.at+1, false
	}
	return false
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
