package stream

import (
	"context"
	"sync"

	"github.com/orch-project/orch/pkg/broker"
)

// intake takes the events of one socket to the broker, in their order. While one batch is under way the next gathers:
//
//	put ──▶ waiting ──▶ under way ──▶ durable
//	                         └── failed: nothing more is taken, and the socket ends
//
// put, flush and finish are called by the one goroutine that reads the socket.
type intake struct {
	to     *publishing
	failed func(error) // Called once, when a batch was not stored. What came after it is not stored either.
	done   chan struct{}

	mu       sync.Mutex
	changed  sync.Cond // Of everything below.
	waiting  []broker.Event
	bytes    int // Of waiting.
	underWay bool
	ended    bool // Nothing more will be put.
	err      error
}

func newIntake(to *publishing, failed func(error)) *intake {
	in := &intake{to: to, failed: failed, done: make(chan struct{})}
	in.changed.L = &in.mu
	go in.run()
	return in
}

// put adds an event; it waits while too much waits already. The error is why events are not taken any more.
func (in *intake) put(e broker.Event) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.err == nil && len(in.waiting) > 0 && (len(in.waiting) >= maxBatchEvents || in.bytes+len(e.Data) > maxBatchBytes) {
		in.changed.Wait()
	}
	if in.err != nil {
		return in.err
	}
	in.waiting = append(in.waiting, e)
	in.bytes += len(e.Data)
	if len(in.waiting) == 1 {
		in.changed.Broadcast()
	}
	return nil
}

// flush waits until all that was put is durable; false when it is not, or when ctx ends before.
func (in *intake) flush(ctx context.Context) bool {
	defer context.AfterFunc(ctx, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.changed.Broadcast()
	})()
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.err == nil && ctx.Err() == nil && (in.underWay || len(in.waiting) > 0) {
		in.changed.Wait()
	}
	return in.err == nil && ctx.Err() == nil
}

// finish lets what was put become durable, and ends the intake.
func (in *intake) finish() error {
	in.mu.Lock()
	in.ended = true
	in.changed.Broadcast()
	in.mu.Unlock()
	<-in.done
	return in.err
}

func (in *intake) run() {
	defer close(in.done)
	var spare []broker.Event
	for {
		in.mu.Lock()
		for len(in.waiting) == 0 && !in.ended {
			in.changed.Wait()
		}
		batch := in.waiting
		if len(batch) == 0 {
			in.mu.Unlock()
			return
		}
		in.waiting, in.bytes, in.underWay = spare, 0, true
		in.changed.Broadcast()
		in.mu.Unlock()

		err := in.to.publish(batch)
		clear(batch) // The events may be large, and the next batch small.
		spare = batch[:0]

		in.mu.Lock()
		in.underWay, in.err = false, err
		in.changed.Broadcast()
		in.mu.Unlock()
		if err != nil {
			in.failed(err)
			return
		}
	}
}
