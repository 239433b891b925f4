package broker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Publisher publishes events durably. It is safe for concurrent use.
type Publisher struct {
	cfg        Config
	committers []*committer
	closing    chan struct{} // Closed first: no new events.
	done       chan struct{} // Closed last: no committer runs.
	once       sync.Once
}

// failureIsFresh is how long a frame that was not acknowledged counts against the health of the connection.
const failureIsFresh = 5 * time.Second

// waiter is one encoded event and the publisher that waits for it.
type waiter struct {
	body      []byte
	result    chan error  // Gets exactly one value from the committer; buffered, so that nobody need listen.
	abandoned atomic.Bool // The publisher has gone: an event that is not yet in a frame need not be sent.
}

func newPublisher(c *Conn) *Publisher {
	p := &Publisher{cfg: c.cfg, closing: make(chan struct{}), done: make(chan struct{})}
	var wg sync.WaitGroup
	for i := range c.cfg.Shards {
		k := newCommitter(c, i, p.closing)
		p.committers = append(p.committers, k)
		wg.Go(k.run)
	}
	c.wg.Go(func() {
		wg.Wait()
		close(p.done)
	})
	return p
}

// Publish returns nil when e is stored: flushed to the disk of the broker. Errors:
//   - ErrInvalidEvent, ErrTooLarge: e was not sent and never can be;
//   - ErrUnavailable: not acknowledged within Config.AckTimeout; e may be stored all the same;
//   - the error of ctx: the caller gave up; e may be stored all the same.
//
// e is not retained.
func (p *Publisher) Publish(ctx context.Context, e Event) error {
	w, k, err := p.encode(&e)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := time.NewTimer(p.cfg.AckTimeout)
	defer timer.Stop()
	if err := p.enqueue(k, w); err != nil {
		return err
	}
	return p.await(ctx, w, timer.C)
}

// PublishAll publishes events in their order and returns nil when all are stored. After an error some of them may be
// stored, and the first error is returned; nothing is sent when one of them is invalid or too large. A list longer than
// the queue is fed in as the queue empties; each event has Config.AckTimeout of its own.
func (p *Publisher) PublishAll(ctx context.Context, events []Event) error {
	type queued struct {
		w *waiter
		k *committer
	}
	all := make([]queued, len(events))
	for i := range events {
		w, k, err := p.encode(&events[i])
		if err != nil {
			return fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
		all[i] = queued{w, k}
	}
	timer := time.NewTimer(p.cfg.AckTimeout)
	defer timer.Stop()
	sent, settled := 0, 0
	abandon := func(err error) error {
		for _, q := range all[settled:sent] {
			q.w.abandoned.Store(true)
		}
		return err
	}
	for settled < len(all) {
		if err := ctx.Err(); err != nil {
			return abandon(err)
		}
		var full error
		for sent < len(all) && full == nil {
			if full = p.enqueue(all[sent].k, all[sent].w); full == nil {
				sent++
			}
		}
		if settled == sent {
			return abandon(full) // Others fill the queue: overload.
		}
		timer.Reset(p.cfg.AckTimeout)
		if err := p.await(ctx, all[settled].w, timer.C); err != nil {
			return abandon(err)
		}
		settled++
	}
	return nil
}

// encode checks and encodes e in the publisher's goroutine, so that encoding uses all processors.
func (p *Publisher) encode(e *Event) (*waiter, *committer, error) {
	if err := e.Validate(); err != nil {
		return nil, nil, err
	}
	body := appendEvent(make([]byte, 0, 320+len(e.Source)+len(e.Type)+len(e.Subject)+len(e.Data)), e)
	if len(body) > MaxEventBytes {
		return nil, nil, fmt.Errorf("%w: %d bytes, at most %d are taken", ErrTooLarge, len(body), MaxEventBytes)
	}
	return &waiter{body: body, result: make(chan error, 1)}, p.committers[shard(e.Workspace, len(p.committers))], nil
}

// enqueue hands w to its committer without waiting.
func (p *Publisher) enqueue(k *committer, w *waiter) error {
	select {
	case <-p.closing:
		return ErrClosed
	default:
	}
	size := int64(len(w.body))
	if k.queuedBytes.Add(size) > p.cfg.QueueBytes+size { // One event always fits, however small the bound.
		k.queuedBytes.Add(-size)
		return fmt.Errorf("%w: too many bytes are waiting to be published", ErrUnavailable)
	}
	select {
	case k.queue <- w:
		return nil
	default:
		k.queuedBytes.Add(-size)
		return fmt.Errorf("%w: too many events are waiting to be published", ErrUnavailable)
	}
}

// await waits for the acknowledgement of w.
func (p *Publisher) await(ctx context.Context, w *waiter, timeout <-chan time.Time) error {
	select {
	case err := <-w.result:
		return err
	case <-ctx.Done():
		w.abandoned.Store(true)
		return ctx.Err()
	case <-timeout:
		w.abandoned.Store(true)
		return fmt.Errorf("%w: no acknowledgement within %s", ErrUnavailable, p.cfg.AckTimeout)
	case <-p.done:
		select {
		case err := <-w.result:
			return err
		default:
			return ErrClosed
		}
	}
}

// healthy is the failure of a last frame, of any shard, while it is fresh. An old failure says nothing: when readiness
// follows it, no request may come any more that could disprove it.
func (p *Publisher) healthy() error {
	for _, k := range p.committers {
		if f := k.lastFailure.Load(); f != nil && time.Since(f.at) < failureIsFresh {
			return f.err
		}
	}
	return nil
}

// close refuses new events and waits until the queued ones are settled.
func (p *Publisher) close() {
	p.once.Do(func() { close(p.closing) })
	<-p.done
}
