package broker

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Batch gathers events that are to be published together. It encodes an event when it is added, and keeps the encoded form
// alone. It is not safe for concurrent use.
type Batch struct {
	publisher *Publisher
	waiters   []*waiter // In the order of their first events.
	events    int
	bytes     int
}

// waiter is a run of encoded events of one shard, joined by commas, and the publisher that waits for them. It travels in
// one frame.
type waiter struct {
	body      []byte
	events    int
	shard     int
	span      trace.Span  // The publisher's, for the span of the frame.
	result    chan error  // Gets exactly one value from the committer; buffered, so that nobody need listen.
	abandoned atomic.Bool // The publisher has stopped waiting: events that no frame has yet need not be sent.
	timer     *time.Timer // The publisher's; stopped unless it waits for the result.
}

// newWaiter is the constructor of a pool.
func newWaiter() any {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &waiter{result: make(chan error, 1), timer: timer}
}

// NewBatch returns an empty batch.
func (p *Publisher) NewBatch() *Batch { return &Batch{publisher: p} }

// Len is the number of events.
func (b *Batch) Len() int { return b.events }

// Bytes is how much memory the events take, encoded.
func (b *Batch) Bytes() int { return b.bytes }

// Add checks, encodes and appends e. ErrInvalidEvent and ErrTooLarge leave the batch as it was. e is not retained.
func (b *Batch) Add(e *Event) error {
	if err := e.Validate(); err != nil {
		return err
	}
	to := shard(e.Workspace, len(b.publisher.committers))
	w := b.last(to)
	if w == nil || w.events >= b.publisher.maxRun {
		w = b.open(to)
	}
	before := len(w.body)
	if w.events > 0 {
		w.body = append(w.body, ',')
	}
	start := len(w.body)
	w.body = appendEvent(w.body, e)
	size := len(w.body) - start
	switch {
	case size > MaxEventBytes:
		w.body = w.body[:before]
		if w.events == 0 {
			b.waiters = b.waiters[:len(b.waiters)-1]
			b.publisher.release(w)
		}
		return fmt.Errorf("%w: %d bytes, at most %d are taken", ErrTooLarge, size, MaxEventBytes)
	case w.events > 0 && len("[]")+len(w.body) > MaxFrameBytes:
		next := b.open(to)
		next.body = append(next.body, w.body[start:]...)
		w.body = w.body[:before]
		w = next
	}
	w.events++
	b.events++
	b.bytes += size
	return nil
}

// AddAll checks, encodes and appends events of one workspace that travel in one frame, so all of them are stored or none. Together they
// may be as large as one event. ErrInvalidEvent and ErrTooLarge leave the batch as it was. Events are not retained.
func (b *Batch) AddAll(events ...Event) error {
	if len(events) == 1 {
		return b.Add(&events[0])
	}
	if len(events) == 0 || len(events) > MaxFrameEvents {
		return fmt.Errorf("%w: a frame takes 1 to %d events, not %d", ErrInvalidEvent, MaxFrameEvents, len(events))
	}
	w := b.open(shard(events[0].Workspace, len(b.publisher.committers)))
	refuse := func(err error) error {
		b.waiters = b.waiters[:len(b.waiters)-1]
		b.publisher.release(w)
		return err
	}
	for i := range events {
		e := &events[i]
		if err := e.Validate(); err != nil {
			return refuse(fmt.Errorf("event %d of %d: %w", i+1, len(events), err))
		}
		if e.Workspace != events[0].Workspace {
			return refuse(fmt.Errorf("%w: events of several workspaces share no frame", ErrInvalidEvent))
		}
		if i > 0 {
			w.body = append(w.body, ',')
		}
		if w.body = appendEvent(w.body, e); len(w.body) > MaxEventBytes {
			return refuse(fmt.Errorf("%w: %d of %d events have %d bytes, together at most %d are taken", ErrTooLarge, i+1, len(events), len(w.body), MaxEventBytes))
		}
	}
	w.events = len(events)
	b.events += len(events)
	b.bytes += len(w.body)
	return nil
}

// last is the run that the events of a shard are added to, or nil.
func (b *Batch) last(shard int) *waiter {
	for _, w := range slices.Backward(b.waiters) {
		if w.shard == shard {
			return w
		}
	}
	return nil
}

func (b *Batch) open(shard int) *waiter {
	w := b.publisher.idle.Get().(*waiter)
	w.shard = shard
	b.waiters = append(b.waiters, w)
	return w
}

// empty removes all waiters from the batch. If they are settled, no committer reads them any more, and other batches may reuse
// them; else the committer owns them.
func (b *Batch) empty(settled bool) {
	if settled {
		for _, w := range b.waiters {
			b.publisher.release(w)
		}
	}
	clear(b.waiters)
	b.waiters, b.events, b.bytes = b.waiters[:0], 0, 0
}

// release lets others use a waiter that no committer knows.
func (p *Publisher) release(w *waiter) {
	if cap(w.body) > 2*MaxFrameBytes {
		return // A single large event should not hold its memory for ever.
	}
	w.body, w.events, w.span = w.body[:0], 0, nil
	p.idle.Put(w)
}
