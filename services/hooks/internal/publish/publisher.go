// Package publish publishes events of webhooks and reports the outcome.
//
//	event ──▶ Publish: wait for credit ──▶ broker, durable ──▶ nil: respond 204
//	                          │
//	                          ├──▶ ErrUnavailable: it may be stored or not; the sender must retry (503)
//	                          └──▶ ErrRefused: it can never be stored (400)
//
// It also builds the failure event, which tells a webhook's owner what was wrong with a request.
package publish

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var (
	// ErrUnavailable is wrapped when the broker did not acknowledge the event. It may be stored all the same.
	ErrUnavailable = errors.New("publish event: not acknowledged")
	// ErrRefused is wrapped when the event can never be stored. It was not sent.
	ErrRefused = errors.New("publish event: refused")
)

// Broker is the part of a broker's publisher that is used here.
type Broker interface {
	// PublishWithin returns nil when all events are durable; see broker.Publisher.
	PublishWithin(ctx context.Context, timeout time.Duration, e ...broker.Event) error
	// Acquire waits for credit under backpressure; Release ends what it began.
	Acquire(ctx context.Context, events int, timeout time.Duration) error
	Release(events int)
}

// Options are what a Publisher needs.
type Options struct {
	Broker     Broker
	Vocabulary vocabulary.Vocabulary
	// Timeout bounds the wait for the acknowledgement.
	Timeout time.Duration
	// Acks observes, in seconds, how long acknowledgements took; may be nil.
	Acks prometheus.Observer
}

// Publisher publishes events. It is safe for concurrent use.
type Publisher struct {
	opts    Options
	writers sync.Pool // Of *events.Writer.
}

// New makes a publisher.
func New(o Options) *Publisher {
	return &Publisher{opts: o, writers: sync.Pool{New: func() any { return events.NewWriter(o.Vocabulary) }}}
}

// Publish returns nil when the events are durable, of which all are stored or none. Under backpressure it first waits for credit. A
// sender that hangs up does not stop it: a received event is stored all the same, and its outcome is counted.
func (p *Publisher) Publish(ctx context.Context, workspace string, list ...*orchv1.ReceivedEvent) error {
	ws, err := uuid.Parse(workspace)
	if err != nil {
		return fmt.Errorf("%w: parse workspace: %w", ErrRefused, err)
	}
	encoded, done, err := p.encode(ws, list)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	defer done() // The broker does not retain the encoded events.
	sending := context.WithoutCancel(ctx)
	arrived := time.Now()
	if err := p.opts.Broker.Acquire(sending, len(list), p.opts.Timeout); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer p.opts.Broker.Release(len(list))
	start := time.Now()
	switch err := p.opts.Broker.PublishWithin(sending, p.opts.Timeout-start.Sub(arrived), encoded...); {
	case err == nil:
		if p.opts.Acks != nil {
			telemetry.Observe(ctx, p.opts.Acks, time.Since(start).Seconds())
		}
		return nil
	case errors.Is(err, broker.ErrTooLarge), errors.Is(err, broker.ErrInvalidEvent):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}

// encode encodes events for the broker. The memory is in use until done.
func (p *Publisher) encode(ws uuid.UUID, list []*orchv1.ReceivedEvent) (encoded []broker.Event, done func(), err error) {
	if len(list) == 1 {
		writer := p.writers.Get().(*events.Writer)
		e, err := writer.Write(list[0], ws)
		return []broker.Event{e}, func() { p.writers.Put(writer) }, err
	}
	encoded, err = events.ListToBroker(p.opts.Vocabulary, list, ws)
	return encoded, func() {}, err
}
