package stream

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// feed gives what passes to its subscribers. It runs while it has any: open reads the source until its context ends,
// calls ready when nothing that comes later is missed, and offer with all that comes.
type feed[T any] struct {
	ctx  context.Context // The feed's life.
	open func(ctx context.Context, ready func()) error

	mu          sync.Mutex
	subscribers map[uuid.UUID]map[*subscriber[T]]struct{} // By workspace.
	count       int
	run         *feedRun // Nil while there is no subscriber.
	runs        sync.WaitGroup
}

// feedRun is one stretch during which the source is read.
type feedRun struct {
	cancel context.CancelFunc
	ready  chan struct{}
	ended  chan struct{}
}

func newFeed[T any](ctx context.Context, open func(ctx context.Context, ready func()) error) *feed[T] {
	return &feed[T]{ctx: ctx, open: open, subscribers: map[uuid.UUID]map[*subscriber[T]]struct{}{}}
}

// join adds a subscriber; when it returns nil, the subscriber gets all that comes from then on. Leave it in any case.
func (f *feed[T]) join(ctx context.Context, q *subscriber[T]) error {
	f.mu.Lock()
	of := f.subscribers[q.workspace]
	if of == nil {
		of = map[*subscriber[T]]struct{}{}
		f.subscribers[q.workspace] = of
	}
	of[q] = struct{}{}
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

// leave takes a subscriber out; the last one ends the run.
func (f *feed[T]) leave(q *subscriber[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.subscribers[q.workspace]
	if _, in := of[q]; !in {
		return
	}
	delete(of, q)
	if len(of) == 0 {
		delete(f.subscribers, q.workspace)
	}
	if f.count--; f.count == 0 && f.run != nil {
		f.run.cancel()
		f.run = nil
	}
}

// start begins a run. The lock is held.
func (f *feed[T]) start() {
	run := &feedRun{ready: make(chan struct{}), ended: make(chan struct{})}
	var ctx context.Context
	ctx, run.cancel = context.WithCancel(f.ctx)
	f.run = run
	f.runs.Go(func() {
		defer close(run.ended)
		defer run.cancel()
		_ = f.open(ctx, func() { close(run.ready) }) // It has logged what went wrong.
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.run == run { // It ended by itself: the subscribers must learn of it.
			f.run = nil
			f.interruptLocked(brokerAway)
		}
	})
}

// interested tells whether anybody listens to a workspace.
func (f *feed[T]) interested(workspace uuid.UUID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subscribers[workspace]) > 0
}

// offer puts a message into the queues of the workspace's subscribers whom it matters to.
func (f *feed[T]) offer(workspace uuid.UUID, value T, m message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for q := range f.subscribers[workspace] {
		if q.wants(value) {
			q.push(m)
		}
	}
}

// wakeOne wakes a subscriber whom a value matters to and who waits, by chance one of several; where none waits, all
// look again when they are done with what they do.
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

// interrupt ends all subscribers.
func (f *feed[T]) interrupt(e ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interruptLocked(e)
}

func (f *feed[T]) interruptLocked(e ending) {
	for _, of := range f.subscribers {
		for q := range of {
			q.stop(e)
		}
	}
}

// wait returns when the feed, whose context has ended, does not run any more.
func (f *feed[T]) wait() { f.runs.Wait() }
