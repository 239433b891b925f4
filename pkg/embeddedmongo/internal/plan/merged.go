package plan

import (
	"bytes"
	"container/heap"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// merged is a k-way merge of all spans by key suffix: the part of the key after the fields that points fix.
type merged struct {
	runs    []*run
	reverse bool
	started bool
	failed  error
}

// run is the iterator of one span in the merge.
type run struct {
	it   *pebble.Iterator
	at   int
	rest []byte // The suffix of the current key.
}

func (p *Plan) openMerged(v *storage.View) (*merged, error) {
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

func (m *merged) Len() int           { return len(m.runs) }
func (m *merged) Less(i, j int) bool { return m.compare(m.runs[i].rest, m.runs[j].rest) < 0 }
func (m *merged) Swap(i, j int)      { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }
func (m *merged) Push(x any)         { m.runs = append(m.runs, x.(*run)) }
func (m *merged) Pop() any {
	r := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return r
}

// compare compares suffixes in the order of reading.
func (m *merged) compare(a, b []byte) int {
	if m.reverse {
		return bytes.Compare(b, a)
	}
	return bytes.Compare(a, b)
}

func (m *merged) next() bool {
	switch {
	case !m.started:
		m.start()
	case len(m.runs) > 0:
		m.replace(m.step(m.runs[0]))
	}
	return m.failed == nil && len(m.runs) > 0
}

// start positions every run at its first key.
func (m *merged) start() {
	m.started = true
	kept := m.runs[:0]
	for _, r := range m.runs {
		var ok bool
		if m.reverse {
			ok = r.it.Last()
		} else {
			ok = r.it.First()
		}
		if m.moved(r, ok) {
			kept = append(kept, r)
		}
	}
	m.runs = kept
	heap.Init(m)
}

func (m *merged) step(r *run) bool {
	if m.reverse {
		return m.moved(r, r.it.Prev())
	}
	return m.moved(r, r.it.Next())
}

// moved updates a run's suffix after its iterator moved.
func (m *merged) moved(r *run, ok bool) bool {
	if !ok {
		if err := r.it.Error(); err != nil {
			m.failed = err
		}
		return false
	}
	r.rest = r.it.Key()[r.at:]
	return true
}

// replace restores the heap after its first run moved, and removes a run that ended.
func (m *merged) replace(more bool) {
	if more {
		heap.Fix(m, 0)
	} else {
		heap.Pop(m)
	}
}

func (m *merged) key() []byte            { return m.runs[0].it.Key() }
func (m *merged) value() ([]byte, error) { return m.runs[0].it.ValueAndErr() }
func (m *merged) err() error             { return m.failed }
