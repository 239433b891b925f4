package broker

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// intake fetches frames ahead of the handler. What the broker hands out is taken in hand at once, never left waiting
// where nobody tells the broker of it; so the fetching itself stops when the hand is full, and begins again when half of
// it is free.
type intake struct {
	consumer jetstream.Consumer
	hand     *hand
	messages int // The hand is full with so many, or so many bytes.
	bytes    int
	frames   chan jetstream.Msg // Has room for all that may be in hand.
	broken   error              // Why the fetching ended by itself; read after frames is closed.
}

func newIntake(consumer jetstream.Consumer, h *hand, messages, bytes int) *intake {
	return &intake{
		consumer: consumer, hand: h, messages: messages, bytes: bytes,
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
	for {
		msg, err := messages.Next(jetstream.NextContext(patience))
		switch {
		case err == nil:
		case full || ctx.Err() != nil:
			return nil
		default:
			return err
		}
		in.hand.take(msg)
		in.frames <- msg
		if !full && in.hand.holds(in.messages, in.bytes) {
			full = true
			end()
		}
	}
}
