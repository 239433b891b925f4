package broker

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// prefetcher fetches frames ahead of the handler. It adds each delivered message to the in-flight set soon, so that the
// server never waits long for a progress report. When the set is full, the next message waits briefly for room. Without
// room the prefetcher drains the pull request, and opens a new one when half of the set is free. A restart costs more
// than a fast handler needs for the whole set, so only slow handlers cause one.
type prefetcher struct {
	consumer jetstream.Consumer
	inFlight *inFlight
	messages int // The in-flight set is full with so many messages, or with so many bytes.
	bytes    int
	// roomWait is how long the set may take to turn over once. An unreported message waits twice as long at most.
	roomWait time.Duration
	frames   chan jetstream.Msg // Has room for every message that may be in flight.
	err      error              // Why fetching ended by itself; read after frames is closed.
}

func newPrefetcher(consumer jetstream.Consumer, f *inFlight, messages, bytes int, roomWait time.Duration) *prefetcher {
	return &prefetcher{
		consumer: consumer, inFlight: f, messages: messages, bytes: bytes, roomWait: roomWait,
		frames: make(chan jetstream.Msg, 2*messages), // A full set, and what is on its way when fetching stops.
	}
}

// run fetches until ctx ends or fetching fails, then closes the channel. Messages that arrived before remain in it.
func (p *prefetcher) run(ctx context.Context) {
	defer close(p.frames)
	p.err = p.fetchAll(ctx)
}

func (p *prefetcher) fetchAll(ctx context.Context) error {
	for {
		if err := p.fetch(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		for p.inFlight.atLeast(p.messages/2, p.bytes/2) {
			select {
			case <-p.inFlight.freed:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// drainTimeout bounds the wait for messages that are on their way. Only a lost connection needs it.
const drainTimeout = time.Second

// fetch receives frames until the in-flight set is full or ctx ends. It then drains what is on its way: a message that
// is left behind is redelivered only after the ack wait.
func (p *prefetcher) fetch(ctx context.Context) error {
	messages, err := p.consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(p.messages, p.bytes))
	if err != nil {
		return err
	}
	defer messages.Stop()
	draining, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	drain := sync.OnceFunc(func() {
		messages.Drain()
		time.AfterFunc(drainTimeout, giveUp)
	})
	defer context.AfterFunc(ctx, drain)()
	full := false
	var turn turnover
	for {
		msg, err := messages.Next(jetstream.NextContext(draining))
		switch {
		case err == nil:
		case full || ctx.Err() != nil:
			return nil
		default:
			return err
		}
		if turn.add(len(msg.Data()), p.messages, p.bytes) || !p.inFlight.atLeast(1, 1) {
			turn = turnover{since: time.Now()}
		}
		p.inFlight.add(msg)
		p.frames <- msg
		if !full && !p.waitForRoom(ctx, time.Until(turn.since.Add(p.roomWait))) {
			full = true
			drain()
		}
	}
}

// turnover counts what was received since a moment.
type turnover struct {
	since           time.Time
	messages, bytes int
}

// add counts a message and reports whether a full in-flight set was received.
func (t *turnover) add(size, messages, bytes int) bool {
	t.messages++
	t.bytes += size
	return t.messages >= messages || t.bytes >= bytes
}

// waitForRoom waits until the in-flight set is not full, for d at most, and reports whether it has room.
func (p *prefetcher) waitForRoom(ctx context.Context, d time.Duration) bool {
	if !p.inFlight.atLeast(p.messages, p.bytes) {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for p.inFlight.atLeast(p.messages, p.bytes) {
		select {
		case <-p.inFlight.freed:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
