package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/orch-project/orch/pkg/tracing"
)

// Publisher publishes events durably. It is safe for concurrent use.
type Publisher struct {
	cfg        Config
	committers []*committer
	maxRun     int // Events that a waiter holds at most.
	flow       *flowControl
	idle       sync.Pool     // Of *waiter: none has been sent, or its result was taken.
	closing    chan struct{} // Closed first: no new events.
	done       chan struct{} // Closed last: no committer runs.
	once       sync.Once
}

// failureIsFresh is how long a frame that was not acknowledged counts against the health of the connection.
const failureIsFresh = 5 * time.Second

func newPublisher(c *Conn) *Publisher {
	p := &Publisher{
		cfg:     c.cfg,
		flow:    unlimited(),
		maxRun:  min(MaxFrameEvents, c.cfg.QueueEvents),
		idle:    sync.Pool{New: newWaiter},
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	if c.isDurable(DurablePersist) {
		p.flow = newFlowControl(func(ctx context.Context) (consumerPosition, error) {
			return c.position(ctx, DurablePersist)
		}, c.log)
		c.wg.Go(func() { p.flow.run(c.ctx) })
	}
	var wg sync.WaitGroup
	for i := range c.cfg.Shards {
		k := newCommitter(c, i, p.flow, p.closing)
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
// Several events are of one workspace, and all of them are stored or none; see Batch.AddAll. They are not retained.
func (p *Publisher) Publish(ctx context.Context, e ...Event) error {
	return p.PublishWithin(ctx, p.cfg.AckTimeout, e...)
}

// PublishWithin is Publish with a timeout below Config.AckTimeout; a longer one has no effect. It costs less than a context with
// a deadline.
func (p *Publisher) PublishWithin(ctx context.Context, timeout time.Duration, e ...Event) error {
	ctx, span := tracing.StartProducer(ctx, spanPublish)
	for i := range e {
		e[i].continueTrace(ctx)
	}
	b := p.NewBatch()
	err := b.AddAll(e...)
	if err == nil {
		err = p.publish(ctx, b, min(timeout, p.cfg.AckTimeout))
	}
	tracing.End(span, err)
	return err
}

// PublishAll publishes events in their order and returns nil when all are stored. After an error some of them may be
// stored, and the first error is returned; nothing is sent when one of them is invalid or too large. A list longer than
// the queue enters it in parts as the queue empties, and each part has a Config.AckTimeout of its own.
func (p *Publisher) PublishAll(ctx context.Context, events []Event) error {
	ctx, span := tracing.StartProducer(ctx, spanPublish)
	err := p.publishAll(ctx, events)
	tracing.End(span, err)
	return err
}

func (p *Publisher) publishAll(ctx context.Context, events []Event) error {
	b := p.NewBatch()
	for i := range events {
		if err := b.Add(&events[i]); err != nil {
			return fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
	}
	return p.publish(ctx, b, p.cfg.AckTimeout)
}

// PublishBatch is PublishAll for events that are encoded already. Whatever it returns, the batch is empty then.
func (p *Publisher) PublishBatch(ctx context.Context, b *Batch) error {
	ctx, span := tracing.StartProducer(ctx, spanPublish)
	err := p.publish(ctx, b, p.cfg.AckTimeout)
	tracing.End(span, err)
	return err
}

// spanPublish is the span from the queue to the acknowledgement.
const spanPublish = "publish events"

// publish queues a batch and waits until all of it is acknowledged, for timeout after each progress.
func (p *Publisher) publish(ctx context.Context, b *Batch, timeout time.Duration) error {
	sent, settled := 0, 0
	abandon := func(err error) error {
		for _, w := range b.waiters[settled:sent] {
			w.abandoned.Store(true)
		}
		b.empty(false)
		return err
	}
	for settled < len(b.waiters) {
		if err := ctx.Err(); err != nil {
			return abandon(err)
		}
		var full error
		for sent < len(b.waiters) && full == nil {
			b.waiters[sent].span = trace.SpanFromContext(ctx)
			if full = p.enqueue(b.waiters[sent]); full == nil {
				sent++
			}
		}
		if settled == sent {
			return abandon(full) // Others fill the queue: overload.
		}
		if err := p.await(ctx, b.waiters[settled], timeout); err != nil {
			return abandon(err)
		}
		settled++
	}
	b.empty(true)
	return nil
}

// PublishPaced is PublishBatch for events of clients, under backpressure: while events are published faster than they
// are stored, it first waits for credit, for timeout at most (0: without limit). So the events that it acknowledges are
// soon stored by their consumers too. It returns ErrUnavailable, and has sent nothing, when no credit comes in time.
func (p *Publisher) PublishPaced(ctx context.Context, b *Batch, timeout time.Duration) error {
	events := b.Len()
	if err := p.Acquire(ctx, events, timeout); err != nil {
		b.empty(true) // No committer has seen it.
		return err
	}
	defer p.Release(events)
	return p.PublishBatch(ctx, b)
}

// Acquire waits for credit to publish so many events, as PublishPaced does. The caller publishes them and then calls
// Release with the same number.
func (p *Publisher) Acquire(ctx context.Context, events int, timeout time.Duration) error {
	return p.flow.acquire(ctx, events, timeout, p.closing)
}

// Release returns the credit of Acquire, whether the events were published or not.
func (p *Publisher) Release(events int) { p.flow.release(events) }

// enqueue passes w to its committer without waiting. The first in the queue always fits, however small the bounds.
func (p *Publisher) enqueue(w *waiter) error {
	select {
	case <-p.closing:
		return ErrClosed
	default:
	}
	k := p.committers[w.shard]
	size, events := int64(len(w.body)), int64(w.events)
	if k.queuedBytes.Add(size) > p.cfg.QueueBytes+size {
		k.queuedBytes.Add(-size)
		return fmt.Errorf("%w: too many bytes are waiting to be published", ErrUnavailable)
	}
	if n := k.queuedEvents.Add(events); n <= int64(p.cfg.QueueEvents) || n == events {
		select {
		case k.queue <- w:
			return nil
		default:
		}
	}
	k.queuedBytes.Add(-size)
	k.queuedEvents.Add(-events)
	return fmt.Errorf("%w: too many events are waiting to be published", ErrUnavailable)
}

// await waits for the acknowledgement of w.
func (p *Publisher) await(ctx context.Context, w *waiter, timeout time.Duration) error {
	w.timer.Reset(timeout)
	defer w.timer.Stop()
	select {
	case err := <-w.result:
		return err
	case <-ctx.Done():
		w.abandoned.Store(true)
		return ctx.Err()
	case <-w.timer.C:
		w.abandoned.Store(true)
		return fmt.Errorf("%w: no acknowledgement within %s", ErrUnavailable, timeout)
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
