package plan

import (
	"bytes"
	"container/heap"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// keys walks the keys within a plan's spans in the plan's order.
type keys interface {
	// next moves on; false at the end or on an error, which err tells.
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

// merged reads all spans at once, ordered by what follows the fixed part of each.
type merged struct {
	runs    []*run
	reverse bool
	started bool
	failed  error
}

type run struct {
	it   *pebble.Iterator
	at   int
	rest []byte
}

func (m *merged) Len() int { return len(m.runs) }
func (m *merged) Less(i, j int) bool {
	c := bytes.Compare(m.runs[i].rest, m.runs[j].rest)
	if m.reverse {
		return c > 0
	}
	return c < 0
}
func (m *merged) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }
func (m *merged) Push(x any)    { m.runs = append(m.runs, x.(*run)) }
func (m *merged) Pop() any {
	r := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return r
}

func (m *merged) next() bool {
	if !m.started {
		m.started = true
		kept := m.runs[:0]
		for _, r := range m.runs {
			if m.step(r, true) {
				kept = append(kept, r)
			}
		}
		m.runs = kept
		heap.Init(m)
	} else if len(m.runs) > 0 {
		if m.step(m.runs[0], false) {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
	return m.failed == nil && len(m.runs) > 0
}

func (m *merged) step(r *run, first bool) bool {
	var ok bool
	switch {
	case first && m.reverse:
		ok = r.it.Last()
	case first:
		ok = r.it.First()
	case m.reverse:
		ok = r.it.Prev()
	default:
		ok = r.it.Next()
	}
	if !ok {
		if err := r.it.Error(); err != nil {
			m.failed = err
		}
		return false
	}
	r.rest = r.it.Key()[r.at:]
	return true
}

func (m *merged) key() []byte            { return m.runs[0].it.Key() }
func (m *merged) value() ([]byte, error) { return m.runs[0].it.ValueAndErr() }
func (m *merged) err() error             { return m.failed }

// open starts reading the plan's keys in a view.
func (p *Plan) open(v *storage.View) (keys, error) {
	if p.merge {
		m := &merged{reverse: p.reverse}
		for _, s := range p.spans {
			it, err := v.Iter(s.lo, s.hi)
			if err != nil {
				return nil, err
			}
			m.runs = append(m.runs, &run{it: it, at: s.at})
		}
		return m, nil
	}
	if len(p.spans) == 0 {
		return &sequence{it: v.Docs()}, nil
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
