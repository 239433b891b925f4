// Package publish hands events to the broker and says what became of them.
//
//	event ──▶ Publish ──▶ broker, durable ──▶ nil: the sender may be told 204
//	                          │
//	                          ├──▶ ErrUnavailable: nobody knows whether it is stored; the sender must try again (503)
//	                          └──▶ ErrRefused: it never can be stored (400)
//
// It also makes the event that tells a webhook's owner what went wrong with a request.
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
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var (
	// ErrUnavailable is wrapped when the broker did not acknowledge the event. It may be stored all the same.
	ErrUnavailable = errors.New("the event could not be stored")
	// ErrRefused is wrapped when the event can never be stored; it was not sent.
	ErrRefused = errors.New("the event cannot be stored")
)

// Broker is the part of a broker's publisher that is needed here.
type Broker interface {
	// Publish returns nil when the event is durable; see broker.Publisher.
	Publish(ctx context.Context, e broker.Event) error
	// Hold waits while events come faster than they are stored, for most at the most.
	Hold(ctx context.Context, events int, most time.Duration)
}

// maxHold bounds how much later a sender is answered because of the others: many give up after a few seconds.
const maxHold = time.Second

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

// Publish returns nil when the event is durable, later when too many come to be stored soon. It goes on when the sender has hung up: what was received is then
// stored all the same, and the outcome is counted.
func (p *Publisher) Publish(ctx context.Context, workspace string, e *orchv1.ReceivedEvent) error {
	ws, err := uuid.Parse(workspace)
	if err != nil {
		return fmt.Errorf("%w: its workspace: %w", ErrRefused, err)
	}
	writer := p.writers.Get().(*events.Writer)
	defer p.writers.Put(writer) // The broker does not retain what it has written.
	b, err := writer.Write(e, ws)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.opts.Timeout)
	defer cancel()
	start := time.Now()
	switch err := p.opts.Broker.Publish(sending, b); {
	case err == nil:
		if p.opts.Acks != nil {
			p.opts.Acks.Observe(time.Since(start).Seconds())
		}
		p.opts.Broker.Hold(ctx, 1, maxHold)
		return nil
	case errors.Is(err, broker.ErrTooLarge), errors.Is(err, broker.ErrInvalidEvent):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}
