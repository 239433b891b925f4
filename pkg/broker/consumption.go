package broker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// consumption is one running Consume.
//
//	intake ──> frames (channel) ──> batch: first frame + what is there ──> handle ──> ack | nak with delay
//	(goroutine)                          (one goroutine)                      │
//	   └───────────── hand: in progress, until settled ───────────┘           └── *Rejected ──> dead letter, then ack
type consumption struct {
	conn    *Conn
	durable string
	opts    ConsumeOptions
	handle  func(ctx context.Context, batch []Delivery) error
	log     *slog.Logger
	hand    *hand
}

// frame is a delivered message and its events.
type frame struct {
	msg        jetstream.Msg
	deliveries []Delivery
	delivered  int // How many times so far, this one included.
}

// consume handles frames until ctx ends or the iterator breaks.
func (k *consumption) consume(ctx context.Context) error {
	consumer, err := k.lookUp(ctx)
	if err != nil {
		return err
	}
	k.hand = newHand()
	// The handler may end its work after ctx; until then its frames are kept.
	ackWait := consumer.CachedInfo().Config.AckWait
	defer k.hand.keep(ackWait)()
	in := newIntake(consumer, k.hand, prefetchFrames, prefetchBytes, ackWait/4)
	fetching, stop := context.WithCancel(ctx)
	go in.run(fetching)
	defer func() {
		stop()
		k.handBack(in.frames)
	}()

	var next *frame
	pacer := pacer{opts: k.opts}
	for {
		if ctx.Err() != nil {
			if next != nil {
				_ = next.msg.Nak()
				k.hand.put(next.msg)
			}
			return ctx.Err()
		}
		if next != nil {
			pause(ctx, pacer.rest(time.Now()))
			pacer.begin(time.Now())
			var batch []*frame
			batch, next = k.gather(ctx, []*frame{next}, in.frames)
			k.process(ctx, batch)
			pacer.end(time.Now(), next != nil || len(in.frames) > 0)
			continue
		}
		select {
		case <-ctx.Done():
		case msg, ok := <-in.frames:
			if !ok {
				return in.broken
			}
			next = k.open(ctx, msg)
		}
	}
}

// lookUpTimeout is how long the broker may take to say that a consumer is there. A request that went to a server that is gone
// is never answered, however long ctx would have it wait; the next one is.
const lookUpTimeout = 5 * time.Second

func (k *consumption) lookUp(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	ctx, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	return k.conn.js.Consumer(ctx, StreamEvents, k.durable)
}

// handBack returns what was fetched ahead, so that another process need not wait for the ack wait to get it. Nak may fail;
// then it is the ack wait after all.
func (k *consumption) handBack(frames <-chan jetstream.Msg) {
	for msg := range frames {
		_ = msg.Nak()
		k.hand.put(msg)
	}
}

// gather adds frames that are there already while they fit. The first that does not fit begins the next batch.
func (k *consumption) gather(ctx context.Context, batch []*frame, incoming <-chan jetstream.Msg) ([]*frame, *frame) {
	events := len(batch[0].deliveries)
	for events < k.opts.MaxEvents {
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
		if events += len(f.deliveries); events > k.opts.MaxEvents {
			return batch, f
		}
		batch = append(batch, f)
	}
	return batch, nil
}

// open decodes a message; nil when there is nothing to handle. A frame that cannot be decoded never will be: it goes to
// the dead letters as it is.
func (k *consumption) open(ctx context.Context, msg jetstream.Msg) *frame {
	f := &frame{msg: msg, delivered: 1}
	var published time.Time
	if meta, err := msg.Metadata(); err == nil {
		f.delivered, published = int(meta.NumDelivered), meta.Timestamp
	}
	events, err := decodeFrame(msg.Data())
	if err != nil {
		k.log.ErrorContext(ctx, "dead-lettering a frame", "error", err)
		if err := k.conn.deadLetterFrame(ctx, k.durable, msg, err); err != nil {
			k.log.ErrorContext(ctx, "writing a dead letter", "error", err)
			k.putBack(ctx, f)
			return nil
		}
	}
	if len(events) == 0 {
		k.acknowledge(ctx, f)
		return nil
	}
	f.deliveries = make([]Delivery, len(events))
	for i := range events {
		f.deliveries[i] = Delivery{Event: events[i], Redelivered: f.delivered - 1, Published: published}
	}
	return f
}

// process hands the frames to the handler and settles them.
func (k *consumption) process(ctx context.Context, frames []*frame) {
	var all []Delivery
	for _, f := range frames {
		all = append(all, f.deliveries...)
	}
	err := k.handleAll(ctx, all)
	if err == nil {
		for _, f := range frames {
			k.acknowledge(ctx, f)
		}
		return
	}
	if ctx.Err() == nil {
		k.log.WarnContext(ctx, "handling events; they will be delivered again", "events", len(all), "error", err)
	}
	for _, f := range frames {
		k.putBack(ctx, f)
	}
	pause(ctx, min(handlerPause, k.opts.Backoff[0]))
}

// handleAll calls the handler in portions of MaxEvents: a single frame may hold more.
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
	k.hand.put(f.msg)
	if err := f.msg.Ack(); err != nil {
		k.log.WarnContext(ctx, "acknowledging a frame; it will be delivered again", "error", err)
	}
}

func (k *consumption) putBack(ctx context.Context, f *frame) {
	k.hand.put(f.msg)
	delay := k.opts.Backoff[min(f.delivered, len(k.opts.Backoff))-1]
	if err := f.msg.NakWithDelay(delay); err != nil && ctx.Err() == nil {
		k.log.WarnContext(ctx, "putting a frame back; it will be delivered again after the ack wait", "error", err)
	}
}

// flush sends the last acknowledgements on their way.
func (k *consumption) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = k.conn.nc.FlushWithContext(ctx) // Lost acknowledgements mean a redelivery, which is allowed.
}
