package stream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
)

const (
	// maxQueue and maxQueueBytes bound a subscriber's queue; one message always fits. The feed delivers whole frames of
	// up to broker.MaxFrameEvents, so a fast subscriber may hold several frames.
	maxQueue      = 16 * broker.MaxFrameEvents
	maxQueueBytes = 16 << 20
	// maxBehind and maxBehindBytes are the bounds while the subscriber receives the stored past, and until it has
	// caught up.
	maxBehind      = 1 << 16
	maxBehindBytes = 64 << 20
)

var (
	errFeedEnded = errors.New("stream: the feed has ended")

	tooSlow = closeReason{websocket.StatusTryAgainLater, "the subscriber reads too slowly; connect again to catch up"}
)

// message is one feed message: its workspace, value and encoded form.
type message struct {
	id   uuid.UUID
	text []byte
}

// subscriber is the queue between a feed and one socket.
type subscriber[T any] struct {
	workspace uuid.UUID
	wants     func(T) bool // Called by the feed, one call at a time.
	news      chan struct{}
	idle      atomic.Bool // It waits for messages. Only subscribers that are woken one at a time set it.
	hint      bool        // Messages wake it and are not kept.

	mu     sync.Mutex
	queue  []message
	bytes  int
	behind bool // The larger bounds apply.
	end    closeReason
}

func newSubscriber[T any](workspace uuid.UUID, behind bool, wants func(T) bool) *subscriber[T] {
	return &subscriber[T]{workspace: workspace, wants: wants, behind: behind, news: make(chan struct{}, 1)}
}

// newHint returns a subscriber that messages only wake. It shares its channel with others.
func newHint[T any](workspace uuid.UUID, news chan struct{}, wants func(T) bool) *subscriber[T] {
	return &subscriber[T]{workspace: workspace, wants: wants, news: news, hint: true}
}

// push enqueues a message without blocking. It stops a subscriber whose queue is full.
func (q *subscriber[T]) push(m message) {
	if q.hint {
		q.wake()
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.end.ok() {
		return
	}
	most, mostBytes := maxQueue, maxQueueBytes
	if q.behind {
		most, mostBytes = maxBehind, maxBehindBytes
	}
	if len(q.queue) >= most || len(q.queue) > 0 && q.bytes+len(m.text) > mostBytes {
		q.stopLocked(tooSlow)
		return
	}
	q.queue = append(q.queue, m)
	q.bytes += len(m.text)
	q.wake()
}

// stop ends the subscription and drops its queue.
func (q *subscriber[T]) stop(e closeReason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end.ok() {
		q.stopLocked(e)
	}
}

func (q *subscriber[T]) stopLocked(e closeReason) {
	q.end, q.queue, q.bytes = e, nil, 0
	q.wake()
}

// wake signals the subscriber; false if the last signal is still pending.
func (q *subscriber[T]) wake() bool {
	select {
	case q.news <- struct{}{}:
		return true
	default:
		return false
	}
}

// take returns the queued messages, which the caller then owns. Once the queue fits the regular bounds, those apply
// from then on.
func (q *subscriber[T]) take() ([]message, closeReason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.queue
	if len(batch) <= maxQueue/2 {
		q.behind = false
	}
	q.queue, q.bytes = nil, 0
	return batch, q.end
}

// deliver writes the feed's messages to the socket, except those that shown reports (nil: none), until either ends. ctx
// ends with the client.
func (q *subscriber[T]) deliver(ctx context.Context, k *socket, shown func(uuid.UUID) bool) closeReason {
	for {
		batch, end := q.take()
		for _, m := range batch {
			if shown != nil && shown(m.id) {
				continue
			}
			if k.write(ctx, m.text) != nil {
				return closedByClient
			}
			if end = q.closeReason(); !end.ok() {
				break
			}
		}
		if !end.ok() {
			return end
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-q.news:
		case <-ctx.Done():
			return closedByClient
		}
	}
}

func (q *subscriber[T]) closeReason() closeReason {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.end
}
