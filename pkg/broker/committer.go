package broker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
)

// committer sends the events of one shard in frames, one frame in flight at a time.
//
//	     ┌──────────── queue empty ────────────┐
//	     v                                     │
//	wait for one ──> gather the queue ───> send frame ──> release its publishers
//	                                        │  ^
//	                                        └──┘ no response: the same frame again, until AckTimeout
//
// Two frames in flight would be slower, not faster: the broker flushes them one after the other, and each is smaller.
type committer struct {
	cfg     Config
	js      jetstream.JetStream
	epoch   *epoch
	subject string
	closing <-chan struct{}
	flow    *flowControl // Counts each frame that the stream has stored.

	queue chan *waiter // Has room for every event of QueueEvents alone.
	// Waiting events and bytes, including the frame in flight.
	queuedBytes  atomic.Int64
	queuedEvents atomic.Int64

	carry  *waiter // Taken from the queue, but it did not fit the last frame. Owned by run.
	frame  []byte  // The buffer of the frame in flight. Owned by run.
	packed []byte  // The same, compressed.

	lastFailure atomic.Pointer[failure] // Nil after a frame that was acknowledged.
}

// failure is the cause and the time of a failed frame.
type failure struct {
	err error
	at  time.Time
}

func newCommitter(c *Conn, shard int, flow *flowControl, closing <-chan struct{}) *committer {
	return &committer{
		cfg:     c.cfg,
		js:      c.js,
		epoch:   c.epoch,
		subject: eventSubject(shard),
		closing: closing,
		flow:    flow,
		queue:   make(chan *waiter, c.cfg.QueueEvents),
	}
}

// run commits frames until closing; then it commits the queue and returns.
func (k *committer) run() {
	var waiters []*waiter
	for {
		first := k.next()
		if first == nil {
			return
		}
		waiters = k.gather(waiters[:0], first)
		err := k.commit(waiters)
		for _, w := range waiters {
			k.dequeue(w)
			w.result <- err // The publisher owns the waiter from here on.
		}
		clear(waiters) // The events may be large, and the next frame small.
	}
}

// dequeue subtracts a waiter's events from the counts.
func (k *committer) dequeue(w *waiter) {
	k.queuedBytes.Add(-int64(len(w.body)))
	k.queuedEvents.Add(-int64(w.events))
}

// next waits for a waiter; nil when the publisher is closed and the queue is empty.
func (k *committer) next() *waiter {
	if w := k.carry; w != nil {
		k.carry = nil
		return w
	}
	select {
	case w := <-k.queue:
		return w
	case <-k.closing:
		select {
		case w := <-k.queue:
			return w
		default:
			return nil
		}
	}
}

// gather appends first and the waiters behind it, up to the limits of a frame. It never blocks.
func (k *committer) gather(waiters []*waiter, first *waiter) []*waiter {
	waiters = append(waiters, first)
	size, events := len("[]")+len(first.body), first.events
	for events < MaxFrameEvents {
		select {
		case w := <-k.queue:
			if w.abandoned.Load() {
				k.dequeue(w)
				continue
			}
			size, events = size+len(",")+len(w.body), events+w.events
			if size > MaxFrameBytes || events > MaxFrameEvents {
				k.carry = w
				return waiters
			}
			waiters = append(waiters, w)
		default:
			return waiters
		}
	}
	return waiters
}

// commit sends one frame until it is acknowledged, refused, or past its deadline.
func (k *committer) commit(waiters []*waiter) error {
	k.frame = appendFrame(k.frame[:0], waiters)
	spans := startFrames(waiters)
	number, err := k.send(k.encode())
	spans.End(err)
	if cap(k.frame) > 2*MaxFrameBytes {
		k.frame, k.packed = nil, nil // One large event should not hold its memory forever.
	}
	if err != nil {
		k.lastFailure.Store(&failure{err, time.Now()})
		return err
	}
	k.lastFailure.Store(nil)
	events := 0
	for _, w := range waiters {
		events += w.events
	}
	k.flow.published(number, events)
	return nil
}

// encode returns the data of the message that carries the frame, and its header.
func (k *committer) encode() (data []byte, header nats.Header) {
	header = nats.Header{headerContentType: {contentTypeBatch}, jetstream.ExpectedStreamHeader: {StreamEvents}}
	if k.cfg.InProcess != nil {
		var smaller bool
		if k.packed, smaller = compress(k.packed, k.frame); smaller {
			header.Set(headerContentEncoding, encodingS2)
			return k.packed, header
		}
	}
	return k.frame, header
}

// appendFrame appends the CloudEvents batch of the waiters' events.
func appendFrame(b []byte, waiters []*waiter) []byte {
	b = append(b, '[')
	for i, w := range waiters {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, w.body...)
	}
	return append(b, ']')
}

// send publishes the frame and returns its number in the stream. All attempts carry one id, so the stream keeps one of them.
// An attempt ends after half of the time, for the case that only its response was lost.
func (k *committer) send(frame []byte, header nats.Header) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), k.cfg.AckTimeout)
	defer cancel()
	header.Set(jetstream.MsgIDHeader, k.cfg.IDs.New().String())
	for {
		number, err := k.attempt(ctx, frame, header)
		var refused *jetstream.APIError
		switch {
		case err == nil:
			return number, nil
		case errors.As(err, &refused) && !isTemporary(err):
			return 0, fmt.Errorf("%w: the stream refused a frame: %w", ErrUnavailable, err)
		case errors.Is(err, nats.ErrMaxPayload):
			return 0, fmt.Errorf("%w: the server's max_payload was lowered: %w", ErrUnavailable, err)
		case errors.Is(err, nats.ErrConnectionClosed):
			return 0, fmt.Errorf("%w: %w", ErrClosed, err)
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			continue // No response: retry at once.
		}
		if !clock.Pause(ctx, 20*time.Millisecond) { // Disconnected, or the stream has no leader now.
			return 0, fmt.Errorf("%w: no acknowledgement of a frame within %s: %w", ErrUnavailable, k.cfg.AckTimeout, err)
		}
	}
}

func (k *committer) attempt(ctx context.Context, frame []byte, header nats.Header) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.AckTimeout/2)
	defer cancel()
	ctx, unbind := k.epoch.bind(ctx)
	defer unbind()
	msg := &nats.Msg{Subject: k.subject, Data: frame, Header: header}
	ack, err := k.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}
