package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxAckPending is how many frames all consumers of a durable name may have in hand.
	maxAckPending = 5000
	// Fetching ahead pauses when so much is in hand. As much may be on its way then.
	prefetchFrames = 500
	prefetchBytes  = 8 << 20

	defaultBatchEvents = 500
)

// backoff is how long a frame rests after the handler failed on it, by the number of its deliveries; the last one holds
// for all further ones. Redelivery never ends.
var backoff = [...]time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}

// handlerPause is how long a consumer rests after the handler failed, whatever the frame: when the store is away, the
// backlog should not be walked through only to be put back.
const handlerPause = time.Second

// ConsumeOptions tune Consume. The zero value means the defaults.
type ConsumeOptions struct {
	// MaxEvents is the largest batch given to the handler. Default 500.
	MaxEvents int
	// Pace is the least time from the beginning of one batch to that of the next. After a rest the first batch begins at
	// once; when events come fast, a handler that pays for each batch pays less often. Default 0.
	Pace time.Duration
	// Yield is how long a burst has precedence over its handling. While more waits than fits into a batch the consumer
	// rests after each batch, three times as long as it took; when it has been behind for this long it rests no more
	// than Pace until it has caught up. So who publishes from the same machine gets most of it during a burst, and what
	// is published for longer than that is handled as fast as it can be. Default 0: no precedence.
	Yield time.Duration
	// Backoff replaces the rest times of a frame after the handler failed: 1 s, 5 s, 30 s, then 2 min.
	Backoff []time.Duration
}

// Delivery is one event as it was delivered.
type Delivery struct {
	Event Event
	// Redelivered is how many times the event's frame was delivered before.
	Redelivered int
	// Published is when the stream stored the frame.
	Published time.Time
}

// Consume gives the events of a durable consumer (one of Config.Durables) to handle until ctx ends; it then returns nil.
// Any number of processes may consume one durable name: each frame goes to one of them.
//
//   - A batch has at least one and at most MaxEvents events. It never waits to be filled.
//   - Events of one workspace come in the order of their publishing; after a redelivery they may not.
//   - Events come at least once: duplicates are recognised by Event.Key.
//   - handle is called by one goroutine at a time. It owns the batch. Its context ends with ctx.
//   - nil from handle acknowledges the batch. *Rejected acknowledges it too, but writes the events it names to the
//     dead-letter stream first, each alone. Any other error delivers all of the batch again after a backoff, for ever.
//
// When ctx ends, frames that were fetched ahead are given back at once. While handle works the broker is kept from
// delivering its batch, and what waits behind it, to others, however long it takes. What a process had in hand when it
// died is delivered to others after Config.AckWait.
func (c *Conn) Consume(
	ctx context.Context, durable string, opts ConsumeOptions, handle func(ctx context.Context, batch []Event) error,
) error {
	return c.ConsumeDeliveries(ctx, durable, opts, func(ctx context.Context, batch []Delivery) error {
		events := make([]Event, len(batch))
		for i := range batch {
			events[i] = batch[i].Event
		}
		return handle(ctx, events)
	})
}

// ConsumeDeliveries is Consume for handlers that want to know how often a frame was delivered.
func (c *Conn) ConsumeDeliveries(
	ctx context.Context, durable string, opts ConsumeOptions, handle func(ctx context.Context, batch []Delivery) error,
) error {
	if opts.MaxEvents <= 0 {
		opts.MaxEvents = defaultBatchEvents
	}
	if len(opts.Backoff) == 0 {
		opts.Backoff = backoff[:]
	}
	owner := ctx
	ctx, cancel := context.WithCancel(owner)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()

	k := &consumption{conn: c, durable: durable, opts: opts, handle: handle, log: c.log.With("durable", durable)}
	for ctx.Err() == nil {
		err := k.consume(ctx)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, jetstream.ErrConsumerNotFound) && !c.isDurable(durable) {
			return fmt.Errorf("consuming %q: %w", durable, err)
		}
		k.log.WarnContext(ctx, "consuming was interrupted", "error", err)
		pause(ctx, 500*time.Millisecond)
	}
	k.flush()
	if owner.Err() == nil {
		return ErrClosed
	}
	return nil
}

func (c *Conn) isDurable(name string) bool {
	return slices.Contains(c.cfg.Durables, name)
}
