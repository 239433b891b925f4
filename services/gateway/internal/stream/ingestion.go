package stream

import (
	"context"
	"sync"

	"github.com/orch-project/orch/pkg/broker"
)

// ingestion publishes the events of one socket in their order. While one batch is in flight the next one collects:
//
//	put ──▶ waiting ──▶ in flight ──▶ durable
//	                         └── failed: no more events are accepted, and the socket closes
//
// put, flush and finish are called by the one goroutine that reads the socket.
type ingestion struct {
	to     *publishing
	failed func(error) // Called once when a batch was not stored. Later events are not stored either.
	done   chan struct{}

	mu       sync.Mutex
	changed  sync.Cond // Signals changes of all fields below.
	waiting  *broker.Batch
	underWay bool
	ended    bool // No more calls of put follow.
	err      error
}

func newIngestion(to *publishing, failed func(error)) *ingestion {
	in := &ingestion{to: to, failed: failed, done: make(chan struct{}), waiting: to.publisher.NewBatch()}
	in.changed.L = &in.mu
	go in.run()
	return in
}

// put adds an event, which it does not retain. It waits for credit under backpressure, and while too many events wait
// already. An event that was put needs no further credit, so a pong does not wait for credit. The error is why the event
// was not taken, and the ending how the socket ends for it: the event is too large, or nothing is taken any more.
func (in *ingestion) put(e *broker.Event) (closeReason, error) {
	if err := in.to.acquire(); err != nil {
		return closedByClient, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.err == nil && in.waiting.Len() > 0 && (in.waiting.Len() >= maxBatchEvents || in.waiting.Bytes()+len(e.Data) > maxBatchBytes) {
		in.changed.Wait()
	}
	if in.err != nil {
		in.to.release(1)
		return closedByClient, in.err
	}
	if err := in.waiting.Add(e); err != nil {
		in.to.release(1)
		return invalidEvent(err), err
	}
	if in.waiting.Len() == 1 {
		in.changed.Broadcast()
	}
	return closeReason{}, nil
}

// flush waits until every event from put is durable. It returns false if one is not, or if ctx ends first.
func (in *ingestion) flush(ctx context.Context) bool {
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

// finish waits for the pending events and ends the ingestion.
func (in *ingestion) finish() error {
	in.mu.Lock()
	in.ended = true
	in.changed.Broadcast()
	in.mu.Unlock()
	<-in.done
	return in.err
}

func (in *ingestion) run() {
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
