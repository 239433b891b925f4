package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// maxAckPending is how many unacknowledged frames all consumers of a durable name may have.
	maxAckPending = 5000
	// Prefetching pauses when so many frames or bytes are in flight. The same amount may be on its way then.
	prefetchFrames = 500
	prefetchBytes  = 8 << 20
	// maxBatchBytes bounds the decompressed data of a batch. The frames were fetched compressed, so they were smaller.
	maxBatchBytes = 8 << 20

	defaultBatchEvents = 500

	// maxKept bounds the lists that a consumer reuses, in events.
	maxKept = 1024
)

// backoff is the redelivery delay of a frame after the handler failed, by its number of deliveries. The last value holds
// for all further ones. Redelivery never ends.
var backoff = [...]time.Duration{time.Second, 2 * time.Second, 5 * time.Second}

// outageBackoff bounds the redelivery delay of a frame after an outage. The number of deliveries does not count, because the frame did not
// fail.
const outageBackoff = 2 * time.Second

// handlerPause is how long a consumer pauses after the handler failed, whatever the frame. Without it a consumer would
// receive and return the whole backlog while the store is down.
const handlerPause = time.Second

// ConsumeOptions tune Consume. The zero value means the defaults.
type ConsumeOptions struct {
	// MaxEvents is the largest batch given to the handler. Default 500.
	MaxEvents int
	// Pace is the least time between the beginnings of two batches. After a pause the first batch begins at once. A
	// handler with a cost per batch pays it less often under load. Default 0.
	Pace time.Duration
	// Yield is how long a burst has precedence over its handling. A consumer lags while more events wait than fit into a
	// batch. In the first Yield of a lag it waits three times the duration of each batch; later it only waits for Pace.
	// So publishers on the same machine get most of it during a burst. Default 0: no precedence.
	Yield time.Duration
	// ReuseMemory tells that the handler keeps neither the batch nor the data of its events after it returns. Both are then
	// overwritten by later batches. Default false: the handler owns them.
	ReuseMemory bool
	// Backoff replaces the redelivery delays after the handler failed: 1 s, 2 s, then 5 s. After an outage (isolation.IsOutage) the
	// delay is between one and two seconds, or the last of Backoff if that is shorter.
	Backoff []time.Duration
}

// Delivery is one delivered event.
type Delivery struct {
	Event Event
	// Redelivered is the number of earlier deliveries of the event's frame.
	Redelivered int
	// Published is when the stream stored the frame.
	Published time.Time

	sequence uint64 // The frame's sequence number in the stream.
}

// Consume gives the events of a durable consumer (one of Config.Durables) to handle until ctx ends; it then returns nil.
// Any number of processes may consume one durable name: each frame goes to one of them.
//
//   - A batch has at least one and at most MaxEvents events. It never waits to be filled.
//   - Events of one workspace arrive in publishing order; after a redelivery they may not.
//   - Delivery is at least once: Event.Key identifies duplicates.
//   - One goroutine at a time calls handle, which may change the batch. Its context ends with ctx.
//   - nil from handle acknowledges the batch. *Rejected acknowledges it too, but first writes each event it names to the
//     dead-letter stream. Any other error redelivers the whole batch after a backoff, without end.
//
// When ctx ends, prefetched frames are returned to the server at once. While handle works, the server redelivers neither
// its batch nor the prefetched frames behind it. The frames of a dead process are redelivered after Config.AckWait.
func (c *Conn) Consume(
	ctx context.Context, durable string, opts ConsumeOptions, handle func(ctx context.Context, batch []Event) error,
) error {
	var memory []Event
	return c.ConsumeDeliveries(ctx, durable, opts, func(ctx context.Context, batch []Delivery) error {
		events := slices.Grow(memory, len(batch))[:len(batch)]
		for i := range batch {
			events[i] = batch[i].Event
		}
		err := handle(ctx, events)
		if opts.ReuseMemory && cap(events) <= maxKept {
			clear(events)
			memory = events[:0]
		}
		return err
	})
}

// ConsumeDeliveries is Consume for handlers that need the number of deliveries.
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
			return fmt.Errorf("consume %q: %w", durable, err)
		}
		k.log.Log(ctx, c.interruption(), "failed to consume events, consuming again", "error", err)
		clock.Pause(ctx, 500*time.Millisecond)
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
