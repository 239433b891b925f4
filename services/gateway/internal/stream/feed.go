package stream

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// feed distributes messages to its subscribers. It runs while it has any. open reads the source until its context ends,
// calls ready once no later message can be missed, and offer with each message.
type feed[T any] struct {
	ctx  context.Context // The lifetime of the feed.
	open func(ctx context.Context, ready func()) error

	mu          sync.Mutex
	subscribers map[uuid.UUID]map[*subscriber[T]]struct{} // By workspace.
	count       int
	run         *feedRun // Nil while there is no subscriber.
	runs        sync.WaitGroup
}

// feedRun is one period during which the feed reads its source.
type feedRun struct {
	cancel context.CancelFunc
	ready  chan struct{}
	ended  chan struct{}
}

func newFeed[T any](ctx context.Context, open func(ctx context.Context, ready func()) error) *feed[T] {
	return &feed[T]{ctx: ctx, open: open, subscribers: map[uuid.UUID]map[*subscriber[T]]struct{}{}}
}

// join adds a subscriber. After it returns nil, the subscriber receives every later message. The caller calls leave in
// any case.
func (f *feed[T]) join(ctx context.Context, q *subscriber[T]) error {
	f.mu.Lock()
	joined := f.subscribers[q.workspace]
	if joined == nil {
		joined = map[*subscriber[T]]struct{}{}
		f.subscribers[q.workspace] = joined
	}
	joined[q] = struct{}{}
	f.count++
	if f.run == nil {
		f.start()
	}
	run := f.run
	f.mu.Unlock()
	select {
	case <-run.ready:
		return nil
	case <-run.ended:
		return errFeedEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave removes a subscriber; removing the last one ends the run.
func (f *feed[T]) leave(q *subscriber[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	joined := f.subscribers[q.workspace]
	if _, in := joined[q]; !in {
		return
	}
	delete(joined, q)
	if len(joined) == 0 {
		delete(f.subscribers, q.workspace)
	}
	if f.count--; f.count == 0 && f.run != nil {
		f.run.cancel()
		f.run = nil
	}
}

// start begins a run. The caller holds the lock.
func (f *feed[T]) start() {
	run := &feedRun{ready: make(chan struct{}), ended: make(chan struct{})}
	var ctx context.Context
	ctx, run.cancel = context.WithCancel(f.ctx)
	f.run = run
	f.runs.Go(func() {
		defer close(run.ended)
		defer run.cancel()
		_ = f.open(ctx, func() { close(run.ready) }) // open logs its errors.
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.run == run { // The run ended without a request, so the subscribers must be notified.
			f.run = nil
			f.interruptLocked(brokerAway)
		}
	})
}

// interested reports whether a workspace has subscribers.
func (f *feed[T]) interested(workspace uuid.UUID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subscribers[workspace]) > 0
}

// offer enqueues a message for the subscribers of the workspace whose filter matches.
func (f *feed[T]) offer(workspace uuid.UUID, value T, m message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for q := range f.subscribers[workspace] {
		if q.wants(value) {
			q.push(m)
		}
	}
}

// wakeOne wakes one random idle subscriber that matches a value. If none is idle, all matching ones check again after
// their current work.
func (f *feed[T]) wakeOne(workspace uuid.UUID, value T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var busy []*subscriber[T]
	for q := range f.subscribers[workspace] {
		switch {
		case !q.wants(value):
		case q.idle.Load() && q.wake():
			return
		default:
			busy = append(busy, q)
		}
	}
	for _, q := range busy {
		q.wake()
	}
}

// interrupt ends all subscriptions.
func (f *feed[T]) interrupt(e closeReason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interruptLocked(e)
}

func (f *feed[T]) interruptLocked(e closeReason) {
	for _, joined := range f.subscribers {
		for q := range joined {
			q.stop(e)
		}
	}
}

// wait returns when the feed, whose context has ended, has stopped.
func (f *feed[T]) wait() { f.runs.Wait() }
