package broker

import (
	"context"
	"sync"
)

// epoch is the time between two disconnections. A question asked in one epoch is never answered in the next: waiting
// for its time-out would only delay the second attempt.
type epoch struct {
	mu  sync.Mutex
	ctx context.Context
	end context.CancelFunc
}

func newEpoch() *epoch {
	e := &epoch{}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

// disconnected ends the epoch and begins the next.
func (e *epoch) disconnected() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.end()
	e.ctx, e.end = context.WithCancel(context.Background())
}

// bind is ctx, ending with the epoch too.
func (e *epoch) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	e.mu.Lock()
	current := e.ctx
	e.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(current, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
