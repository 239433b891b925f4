// Package dedup recognises duplicate deliveries: deliveries whose event this process has published already.
//
//	Do(id) ──▶ published before: duplicate
//	       ──▶ in flight: wait for it; when it fails, publish
//	       ──▶ else: publish, and remember the id once the event is durable
//
// This memory is an optimisation, not the guarantee. It is bounded, and lost with the process. The guarantee is the id
// itself: the event of a duplicate delivery has the id of the first one, so the store keeps one of them. That holds for
// two replicas, and for a process before and after a crash.
package dedup

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// generation is the least number of ids that are remembered, and half of the largest.
const generation = 1 << 15

// Set remembers ids. The zero value is ready. It is safe for concurrent use.
//
// It is not a singleflight.Group: that one passes a failure and a panic on to all callers that wait, and it cannot wait
// with a context without ending the process on a panic.
type Set struct {
	mu       sync.Mutex
	young    map[uuid.UUID]struct{}
	old      map[uuid.UUID]struct{}
	inFlight map[uuid.UUID]chan struct{} // Closed when the outcome is known.
}

// Do calls publish unless the event of id was published before. It reports whether the delivery is a duplicate, or the
// error of publish. After an error or a panic of publish the id is unknown, and the next caller publishes. The error is
// that of ctx when it ends while another caller publishes.
func (w *Set) Do(ctx context.Context, id uuid.UUID, publish func() error) (duplicate bool, err error) {
	if duplicate, err = w.begin(ctx, id); duplicate || err != nil {
		return duplicate, err
	}
	published := false
	defer func() { w.end(id, published) }()
	if err := publish(); err != nil {
		return false, err
	}
	published = true
	return false, nil
}

// begin waits until the id is published, which it reports, or this caller is the one to publish it.
func (w *Set) begin(ctx context.Context, id uuid.UUID) (published bool, err error) {
	for {
		w.mu.Lock()
		if w.has(id) {
			w.mu.Unlock()
			return true, nil
		}
		done, busy := w.inFlight[id]
		if !busy {
			if w.inFlight == nil {
				w.inFlight = map[uuid.UUID]chan struct{}{}
			}
			w.inFlight[id] = make(chan struct{})
			w.mu.Unlock()
			return false, nil
		}
		w.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return false, fmt.Errorf("wait for the same delivery in flight: %w", ctx.Err())
		}
	}
}

// end releases the callers that wait for id.
func (w *Set) end(id uuid.UUID, published bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.inFlight[id])
	delete(w.inFlight, id)
	if published {
		w.add(id)
	}
}

// Published reports whether the event of id was published.
func (w *Set) Published(id uuid.UUID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.has(id)
}

func (w *Set) has(id uuid.UUID) bool {
	if _, ok := w.young[id]; ok {
		return true
	}
	_, ok := w.old[id]
	return ok
}

func (w *Set) add(id uuid.UUID) {
	if w.young == nil || len(w.young) >= generation {
		w.old, w.young = w.young, make(map[uuid.UUID]struct{}, 64)
	}
	w.young[id] = struct{}{}
}
