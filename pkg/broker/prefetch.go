package broker

import (
	"context"
	"errors"
	"slices"
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
		frames: make(chan jetstream.Msg, 2*messages), // A full set, and the messages that are on their way when fetching stops.
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

// fetch receives frames until the in-flight set is full or ctx ends. It then drains the messages that are on their way: a
// message that is left behind is redelivered only after the ack wait.
//
// It consumes by a callback, because the subscription of a callback keeps every message that arrives. A message iterator has room for the
// requested messages alone, and drops one when the status of a completed request arrives between them.
func (p *prefetcher) fetch(ctx context.Context) error {
	f := &fetching{prefetcher: p, started: make(chan struct{})}
	failed := make(chan error, 1)
	var err error
	f.subscription, err = p.consumer.Consume(func(msg jetstream.Msg) { f.receive(ctx, msg) },
		jetstream.PullMaxMessagesWithBytesLimit(p.messages, p.bytes),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			if endsFetching(err) {
				select {
				case failed <- err:
				default:
				}
			}
		}))
	if err != nil {
		return err
	}
	defer f.end()
	defer f.subscription.Stop()
	closed := f.subscription.Closed()
	close(f.started)
	select {
	case <-closed: // The in-flight set was full, and receive has drained.
		return nil
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	f.subscription.Drain()
	select {
	case <-closed:
	case <-time.After(drainTimeout):
	}
	return nil
}

// endsFetching reports whether no more messages follow an error until the consumer is looked up again.
func endsFetching(err error) bool {
	return slices.ContainsFunc(terminalErrors, func(end error) bool { return errors.Is(err, end) })
}

var terminalErrors = []error{jetstream.ErrNoHeartbeat, jetstream.ErrConsumerDeleted, jetstream.ErrBadRequest, jetstream.ErrConnectionClosed}

// fetching receives the messages of one subscription, one at a time.
type fetching struct {
	*prefetcher

	subscription jetstream.ConsumeContext // Read after started is closed.
	started      chan struct{}
	turnover     turnover
	drained      bool

	mu    sync.Mutex
	ended bool // The frames of later messages are left to the ack wait.
}

// receive adds a message to the in-flight set, and waits until the set has room for the next one. Without room it drains before it returns,
// because the subscription requests further messages when it returns.
func (f *fetching) receive(ctx context.Context, msg jetstream.Msg) {
	<-f.started
	if !f.add(msg) || f.drained || f.waitForRoom(ctx, time.Until(f.turnover.since.Add(f.roomWait))) {
		return
	}
	f.drained = true
	f.subscription.Drain()
}

// add adds a message to the in-flight set and the frames. It reports false after the end.
func (f *fetching) add(msg jetstream.Msg) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	if f.turnover.add(len(msg.Data()), f.messages, f.bytes) || !f.inFlight.atLeast(1, 1) {
		f.turnover = turnover{since: time.Now()}
	}
	f.inFlight.add(msg)
	f.frames <- msg
	return true
}

// end keeps messages that arrive too late out of the frames, which may be closed then.
func (f *fetching) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
}

// turnover counts the messages and bytes that were received since a moment.
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
