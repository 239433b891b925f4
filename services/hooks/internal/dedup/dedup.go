// Package dedup knows which deliveries this process has made an event of, so that a sender who sends one again gets the
// same answer and nothing else happens.
//
//	Do(id) ──▶ known: a repeat
//	       ──▶ on its way: wait for it; when it fails, try it oneself
//	       ──▶ else: make the event, and remember the id when it is durable
//
// This memory is a short cut, not the promise. It is small, and lost with the process. The promise is the id itself: an
// event of a repeated delivery has the id of the first, so that of two replicas, or of a process before and after a
// crash, only one is ever stored, whatever each of them remembers.
package dedup

import (
	"sync"

	"github.com/google/uuid"
)

// generation is how many ids are remembered at least, and half of how many at most.
const generation = 1 << 15

// Window remembers ids. The zero value is ready; it is safe for concurrent use.
type Window struct {
	mu     sync.Mutex
	young  map[uuid.UUID]struct{}
	old    map[uuid.UUID]struct{}
	flight map[uuid.UUID]chan struct{} // Closed when the outcome is known.
}

// Do calls publish unless the id's event was made before. It returns whether the delivery is a repeat, or the error of
// publish, after which the id is as it was.
func (m *Window) Do(id uuid.UUID, publish func() error) (repeat bool, err error) {
	for {
		m.mu.Lock()
		if m.has(id) {
			m.mu.Unlock()
			return true, nil
		}
		done, busy := m.flight[id]
		if !busy {
			break
		}
		m.mu.Unlock()
		<-done
	}
	done := make(chan struct{})
	if m.flight == nil {
		m.flight = map[uuid.UUID]chan struct{}{}
	}
	m.flight[id] = done
	m.mu.Unlock()

	err = publish()

	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.flight, id)
	close(done)
	if err == nil {
		m.add(id)
	}
	return false, err
}

// Known tells whether the id's event was made.
func (m *Window) Known(id uuid.UUID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.has(id)
}

func (m *Window) has(id uuid.UUID) bool {
	if _, ok := m.young[id]; ok {
		return true
	}
	_, ok := m.old[id]
	return ok
}

func (m *Window) add(id uuid.UUID) {
	if m.young == nil || len(m.young) >= generation {
		m.old, m.young = m.young, make(map[uuid.UUID]struct{}, 64)
	}
	m.young[id] = struct{}{}
}
