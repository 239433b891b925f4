package action

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// maxPerDestination bounds the concurrent calls of a workspace to one destination, for each replica.
const maxPerDestination = 4

// errBusy means that no call to a destination ended in time.
var errBusy = errors.New("too many calls to the destination at a time")

// destination is a receiver of calls: a workspace, and the scheme, host and port of its receiver.
type destination struct {
	workspace uuid.UUID
	host      string
}

// destinations bounds the concurrent calls to each destination, so a slow receiver is not flooded. The zero value is ready.
type destinations struct {
	mu    sync.Mutex
	slots map[destination]*slots
}

// slots are those of one destination, and how many callers hold or wait for one.
type slots struct {
	taken   chan struct{}
	callers int
}

// acquire waits for a slot. The caller releases it.
func (d *destinations) acquire(ctx context.Context, to destination) (release func(), err error) {
	d.mu.Lock()
	if d.slots == nil {
		d.slots = map[destination]*slots{}
	}
	s := d.slots[to]
	if s == nil {
		s = &slots{taken: make(chan struct{}, maxPerDestination)}
		d.slots[to] = s
	}
	s.callers++
	d.mu.Unlock()
	leave := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if s.callers--; s.callers == 0 {
			delete(d.slots, to)
		}
	}
	select {
	case s.taken <- struct{}{}:
		return func() { <-s.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("%w: %w", errBusy, ctx.Err())
	}
}
