package command

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/processors"
)

const (
	// freeChecks is the number of times that a command checks its time limit before it counts as long: some thousand keys, or more
	// documents than a page has. It is no time, because a short read takes long too when the processors are busy.
	freeChecks = 4
	// turnTime is how long a long read works before others get their turn.
	turnTime = 10 * time.Millisecond
	// longCommand is the size, in bytes, from which a read is long before it begins: to plan a filter of a thousand ids takes about a
	// millisecond.
	longCommand = 32 << 10
)

// longReadLimiter admits a few long reads and index builds at a time, in turns, so most processors stay free for short commands.
//
//	short ──▶ is no larger than longCommand, and ends within freeChecks
//	long  ──▶ exceeds one    ──▶ waits for a slot ──▶ works for a turn ──▶ gives the slot to the next, if one waits ─┐
//	                                  ▲                                                                           │
//	                                  └───────────────────────────────────────────────────────────────────────────┘
type longReadLimiter struct {
	slots   chan struct{} // Its waiters are served in their order.
	waiting atomic.Int64
}

func newLongReadLimiter() *longReadLimiter {
	return &longReadLimiter{slots: make(chan struct{}, processors.Half())}
}

// timeSlices are the slots of one command under a limiter. The zero value never waits.
type timeSlices struct {
	limiter *longReadLimiter
	checks  int
	began   time.Time // The current turn.
	held    bool
	ended   bool
}

// takeTurns makes a command work in turns from now on. The caller ends them.
func (r *request) takeTurns(l *longReadLimiter) { r.slices = timeSlices{limiter: l} }

// next is called whenever a command checks its time limit. It waits for the next turn when the current one has ended. It returns an
// error at the deadline, or when ctx ends.
func (t *timeSlices) next(ctx context.Context, deadline time.Time) error {
	if t.limiter == nil || t.ended {
		return nil
	}
	if t.checks++; t.checks <= freeChecks {
		return nil
	}
	if t.held {
		runtime.Gosched() // Short commands wait for a processor at most until here, not until the scheduler preempts.
		if t.limiter.waiting.Load() == 0 || time.Since(t.began) < turnTime {
			return nil
		}
	}
	t.leave()
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	t.limiter.waiting.Add(1)
	defer t.limiter.waiting.Add(-1)
	select {
	case t.limiter.slots <- struct{}{}:
		t.held, t.began = true, time.Now()
		return nil
	case <-ctx.Done():
		return mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit while other long reads had their turns")
	}
}

// leave frees the slot.
func (t *timeSlices) leave() {
	if t.held {
		t.held = false
		<-t.limiter.slots
	}
}

// end frees the slot when the command ends. A cursor that continues it later has its own turns.
func (t *timeSlices) end() {
	t.leave()
	t.ended = true
}
