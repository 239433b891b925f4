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
	waiting  *broker.Batch
	underWay bool
	ended    bool // Nothing more will be put.
	err      error
}

func newIntake(to *publishing, failed func(error)) *intake {
	in := &intake{to: to, failed: failed, done: make(chan struct{}), waiting: to.publisher.NewBatch()}
	in.changed.L = &in.mu
	go in.run()
	return in
}

// put adds an event, which it does not retain. It waits for credit under backpressure, and while too many events wait
// already. An event that was put needs no further credit, so a pong does not wait for credit. The error is why the event
// was not taken, and the ending how the socket ends for it: the event is too large, or nothing is taken any more.
func (in *intake) put(e *broker.Event) (ending, error) {
	if err := in.to.acquire(); err != nil {
		return gone, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.err == nil && in.waiting.Len() > 0 && (in.waiting.Len() >= maxBatchEvents || in.waiting.Bytes()+len(e.Data) > maxBatchBytes) {
		in.changed.Wait()
	}
	if in.err != nil {
		in.to.release(1)
		return gone, in.err
	}
	if err := in.waiting.Add(e); err != nil {
		in.to.release(1)
		return invalidEvent(err), err
	}
	if in.waiting.Len() == 1 {
		in.changed.Broadcast()
	}
	return ending{}, nil
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
	for in.err == nil && ctx.Err() == nil && (in.underWay || in.waiting.Len() > 0) {
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
	spare := in.to.publisher.NewBatch()
	for {
		in.mu.Lock()
		for in.waiting.Len() == 0 && !in.ended {
			in.changed.Wait()
		}
		batch := in.waiting
		if batch.Len() == 0 {
			in.mu.Unlock()
			return
		}
		in.waiting, in.underWay = spare, true
		in.changed.Broadcast()
		in.mu.Unlock()

		events := batch.Len()
		err := in.to.publish(batch)
		in.to.release(events)
		spare = batch

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
