package broker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/isolation"
)

// consumption is one running Consume.
//
//	prefetcher ──> frames (channel) ──> batch: first frame + queued ones ──> handle ──> ack | nak with delay
//	(goroutine)                          (one goroutine)                        │
//	   └───────── in flight: ack wait extended until settled ───────┘           └── *Rejected ──> dead letter, then ack
type consumption struct {
	conn     *Conn
	durable  string
	opts     ConsumeOptions
	handle   func(ctx context.Context, batch []Delivery) error
	log      *slog.Logger
	inFlight *inFlight

	deliveries []Delivery   // The events of the open frames, in the order of the frames.
	decoded    []Event      // Memory for the events of one frame.
	memory     *frameMemory // The memory that events may share; nil if the handler owns it.
}

// frame is a delivered message. Its events are in consumption.deliveries.
type frame struct {
	msg       jetstream.Msg
	events    int
	bytes     int // Of the events' data, uncompressed.
	delivered int // The number of deliveries, this one included.
}

// consume handles frames until ctx ends or fetching fails.
func (k *consumption) consume(ctx context.Context) error {
	consumer, err := k.lookUp(ctx)
	if err != nil {
		return err
	}
	k.inFlight = newInFlight()
	// The handler may end its work after ctx; until then its frames stay in flight.
	ackWait := consumer.CachedInfo().Config.AckWait
	defer k.inFlight.extendAckWait(ackWait)()
	fetcher := newPrefetcher(consumer, k.inFlight, prefetchFrames, prefetchBytes, ackWait/4)
	fetching, stop := context.WithCancel(ctx)
	go fetcher.run(fetching)
	defer func() {
		stop()
		k.returnAll(fetcher.frames)
	}()

	k.deliveries, k.memory = nil, nil // An interruption may have left a frame open.
	if k.opts.ReuseMemory {
		k.memory = &frameMemory{}
	}
	var next *frame
	limiter := batchLimiter{opts: k.opts}
	for {
		if ctx.Err() != nil {
			if next != nil {
				_ = next.msg.Nak()
				k.inFlight.remove(next.msg)
			}
			return ctx.Err()
		}
		if next != nil {
			clock.Pause(ctx, limiter.delay(time.Now()))
			limiter.begin(time.Now())
			var batch []*frame
			batch, next = k.gather(ctx, []*frame{next}, fetcher.frames)
			k.process(ctx, batch)
			limiter.end(time.Now(), next != nil || len(fetcher.frames) > 0)
			continue
		}
		select {
		case <-ctx.Done():
		case msg, ok := <-fetcher.frames:
			if !ok {
				return fetcher.err
			}
			if next = k.open(ctx, msg); next == nil {
				k.release(0)
			}
		}
	}
}

// lookUpTimeout bounds the wait for the consumer's info. A request to a dead server never gets a response; the next
// request does.
const lookUpTimeout = 5 * time.Second

func (k *consumption) lookUp(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	ctx, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	return k.conn.js.Consumer(ctx, StreamEvents, k.durable)
}

// returnAll returns prefetched frames to the server, so another process gets them before the ack wait ends. A failed Nak
// leaves a frame to the ack wait.
func (k *consumption) returnAll(frames <-chan jetstream.Msg) {
	for msg := range frames {
		_ = msg.Nak()
		k.inFlight.remove(msg)
	}
}

// gather adds queued frames while they fit, and until the batch has maxBatchBytes. The first frame that does not fit begins the next
// batch.
func (k *consumption) gather(ctx context.Context, batch []*frame, incoming <-chan jetstream.Msg) ([]*frame, *frame) {
	events, size := batch[0].events, batch[0].bytes
	for events < k.opts.MaxEvents && size < maxBatchBytes {
		var msg jetstream.Msg
		var ok bool
		select {
		case msg, ok = <-incoming:
		default:
		}
		if !ok {
			break
		}
		f := k.open(ctx, msg)
		if f == nil {
			continue
		}
		if events += f.events; events > k.opts.MaxEvents {
			return batch, f
		}
		size += f.bytes
		batch = append(batch, f)
	}
	return batch, nil
}

// open decodes a message. It returns nil when there is nothing to handle: the frame is a retry for another durable
// consumer, is empty, or cannot be decoded. An undecodable frame goes to the dead letters as it is.
func (k *consumption) open(ctx context.Context, msg jetstream.Msg) *frame {
	f := &frame{msg: msg, delivered: 1}
	if only := msg.Headers().Get(headerRetryFor); only != "" && only != k.durable {
		k.acknowledge(ctx, f)
		return nil
	}
	var published time.Time
	var sequence uint64
	if meta, err := msg.Metadata(); err == nil {
		f.delivered, published, sequence = int(meta.NumDelivered), meta.Timestamp, meta.Sequence.Stream
	}
	events, err := decodeMessage(k.decoded[:0], msg, k.memory)
	if err != nil {
		k.log.ErrorContext(ctx, "failed to decode a frame; it becomes a dead letter", "error", err)
		if err := k.conn.deadLetterFrame(ctx, k.durable, msg, err); err != nil {
			k.log.ErrorContext(ctx, "failed to write a dead letter; the frame will be redelivered", "error", err)
			k.redeliver(ctx, f, err)
			return nil
		}
	}
	if len(events) == 0 {
		k.acknowledge(ctx, f)
		return nil
	}
	f.events = len(events)
	for i := range events {
		f.bytes += len(events[i].Data)
		k.deliveries = append(k.deliveries, Delivery{Event: events[i], Redelivered: f.delivered - 1, Published: published, sequence: sequence})
	}
	clear(events)
	if k.decoded = events; cap(events) > maxKept {
		k.decoded = nil
	}
	return f
}

// process calls the handler with the events of at least one frame, and settles the frames.
func (k *consumption) process(ctx context.Context, frames []*frame) {
	n := 0
	for _, f := range frames {
		n += f.events
	}
	err := k.handleAll(ctx, k.deliveries[:n:n])
	k.release(n)
	if err == nil {
		for _, f := range frames {
			k.acknowledge(ctx, f)
		}
		return
	}
	if ctx.Err() == nil {
		k.log.WarnContext(ctx, "failed to handle events; they will be redelivered", "events", n, "error", err)
	}
	for _, f := range frames {
		k.redeliver(ctx, f, err)
	}
	clock.Pause(ctx, min(handlerPause, k.opts.Backoff[0]))
}

// release ends the use of the first n events. The others, if any, are of the last open frame.
func (k *consumption) release(n int) {
	rest := k.deliveries[n:]
	if k.memory == nil || cap(k.deliveries) > maxKept {
		k.deliveries = slices.Clone(rest)
	} else {
		copy(k.deliveries, rest)
		clear(k.deliveries[len(rest):])
		k.deliveries = k.deliveries[:len(rest)]
	}
	if k.memory != nil {
		k.memory.reset(len(rest) > 0)
	}
}

// handleAll calls the handler with portions of MaxEvents: a single frame may hold more.
func (k *consumption) handleAll(ctx context.Context, all []Delivery) error {
	for len(all) > 0 {
		n := min(len(all), k.opts.MaxEvents)
		portion := all[:n:n]
		all = all[n:]
		err := k.handle(ctx, portion)
		if rejected, ok := errors.AsType[*Rejected](err); ok {
			err = k.conn.deadLetterEvents(ctx, k.durable, portion, rejected)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *consumption) acknowledge(ctx context.Context, f *frame) {
	k.inFlight.remove(f.msg)
	if err := f.msg.Ack(); err != nil {
		k.log.WarnContext(ctx, "failed to acknowledge a frame; it will be redelivered", "error", err)
	}
}

// redeliver returns a frame to the server, with a delay for the cause.
func (k *consumption) redeliver(ctx context.Context, f *frame, cause error) {
	k.inFlight.remove(f.msg)
	if err := f.msg.NakWithDelay(k.redeliveryDelay(f.delivered, cause)); err != nil && ctx.Err() == nil {
		k.log.WarnContext(ctx, "failed to return a frame; it will be redelivered after the ack wait", "error", err)
	}
}

// redeliveryDelay is the time until a frame is delivered again. An outage says nothing about the frame. The jitter keeps the frames of
// all consumers from coming back at once.
func (k *consumption) redeliveryDelay(delivered int, cause error) time.Duration {
	if isolation.IsOutage(cause) {
		most := min(outageBackoff, k.opts.Backoff[len(k.opts.Backoff)-1])
		return most/2 + rand.N(most/2+1)
	}
	return k.opts.Backoff[min(delivered, len(k.opts.Backoff))-1]
}

// flush sends the last acknowledgements.
func (k *consumption) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = k.conn.nc.FlushWithContext(ctx) // A lost acknowledgement causes a redelivery, which is allowed.
}
