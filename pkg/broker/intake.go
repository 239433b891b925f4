package broker

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// intake fetches frames ahead of the handler. What the broker hands out is taken in hand soon, never left waiting for long
// where nobody tells the broker of it. When the hand is full, what comes next waits a moment for room; where there is none
// the fetching stops, and begins again when half of the hand is free. To stop and begin takes longer than a quick handler
// needs for all that is in hand, so it is for slow ones.
type intake struct {
	consumer jetstream.Consumer
	hand     *hand
	messages int // The hand is full with so many, or so many bytes.
	bytes    int
	// Rest is how long it may take to take in a hand full; what waits untold waits for two of them at the most.
	rest   time.Duration
	frames chan jetstream.Msg // Has room for all that may be in hand.
	broken error              // Why the fetching ended by itself; read after frames is closed.
}

func newIntake(consumer jetstream.Consumer, h *hand, messages, bytes int, rest time.Duration) *intake {
	return &intake{
		consumer: consumer, hand: h, messages: messages, bytes: bytes, rest: rest,
		frames: make(chan jetstream.Msg, 2*messages), // A full hand, and what is on its way when fetching stops.
	}
}

// run fetches until ctx ends or the fetching breaks, then it closes the channel. What came before is still in it.
func (in *intake) run(ctx context.Context) {
	defer close(in.frames)
	in.broken = in.fetchAll(ctx)
}

func (in *intake) fetchAll(ctx context.Context) error {
	for {
		if err := in.fetch(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		for in.hand.holds(in.messages/2, in.bytes/2) {
			select {
			case <-in.hand.freed:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// drainTime is how long what is on its way may take to come in. Only without a connection does it take long.
const drainTime = time.Second

// fetch takes frames until the hand is full or ctx ends. What is on its way then comes in too: to leave it would mean an
// ack wait until somebody gets it.
func (in *intake) fetch(ctx context.Context) error {
	messages, err := in.consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(in.messages, in.bytes))
	if err != nil {
		return err
	}
	defer messages.Stop()
	patience, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	end := sync.OnceFunc(func() {
		messages.Drain()
		time.AfterFunc(drainTime, giveUp)
	})
	defer context.AfterFunc(ctx, end)()
	full := false
	var w window
	for {
		msg, err := messages.Next(jetstream.NextContext(patience))
		switch {
		case err == nil:
		case full || ctx.Err() != nil:
			return nil
		default:
			return err
		}
		if w.add(len(msg.Data()), in.messages, in.bytes) || !in.hand.holds(1, 1) {
			w = window{since: time.Now()}
		}
		in.hand.take(msg)
		in.frames <- msg
		if !full && !in.room(ctx, time.Until(w.since.Add(in.rest))) {
			full = true
			end()
		}
	}
}

// window is what was taken in since a moment.
type window struct {
	since           time.Time
	messages, bytes int
}

// add tells whether the window has as much as a full hand.
func (w *window) add(size, messages, bytes int) bool {
	w.messages++
	w.bytes += size
	return w.messages >= messages || w.bytes >= bytes
}

// room waits until the hand is not full, for d at the most, and tells whether it is not.
func (in *intake) room(ctx context.Context, d time.Duration) bool {
	if !in.hand.holds(in.messages, in.bytes) {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for in.hand.holds(in.messages, in.bytes) {
		select {
		case <-in.hand.freed:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
