package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// subscriptionThreshold is how long a vanished subscriber holds events back in the stream.
const subscriptionThreshold = 30 * time.Second

// SubscribeOption tunes Subscribe.
type SubscribeOption func(*subscription)

// OnReady calls ready once, when every event published from then on will be given to the handler.
func OnReady(ready func()) SubscribeOption { return func(s *subscription) { s.ready = ready } }

// OnGap calls missed when the subscription has lost frames, before the handler gets the frames that follow them. The
// subscription goes on; a subscriber that must miss nothing reads the lost events from the store.
func OnGap(missed func()) SubscribeOption { return func(s *subscription) { s.missed = missed } }

type subscription struct{ ready, missed func() }

// Subscribe gives every event that is published from now on, by any process, to handle until ctx ends; it then returns
// nil. It is for live feeds: nothing is acknowledged, events that pass while the broker is unreachable may be missed (see
// OnGap), and duplicates are possible. Events of one workspace come in order. handle is called by one goroutine; while it
// blocks, events wait in the stream.
func (c *Conn) Subscribe(ctx context.Context, handle func(Event), opts ...SubscribeOption) error {
	var s subscription
	for _, o := range opts {
		o(&s)
	}
	owner := ctx
	ctx, cancel := context.WithCancel(owner)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()

	consumer, next, err := c.subscribeFromNow(ctx)
	if err != nil {
		return unavailable(ctx, "subscribing to events", err)
	}
	running, err := consumer.Consume(func(msg jetstream.Msg) {
		if meta, err := msg.Metadata(); err == nil {
			// The consumer filters nothing, so the numbers of its frames have no holes but those of frames that left
			// the stream while it was cut off.
			if meta.Sequence.Stream > next && s.missed != nil {
				s.missed()
			}
			next = max(next, meta.Sequence.Stream+1)
		}
		if msg.Headers().Get(headerRetryFor) != "" {
			return // The feed has delivered the event when it was first published.
		}
		events, err := decodeMessage(nil, msg, nil)
		if err != nil {
			c.log.WarnContext(ctx, "failed to decode a frame of a live feed; skipped it", "error", err)
			return
		}
		for i := range events {
			if ctx.Err() != nil {
				return
			}
			handle(events[i])
		}
	}, jetstream.PullMaxMessagesWithBytesLimit(prefetchFrames, prefetchBytes),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			c.log.DebugContext(ctx, "failed to follow a live feed, following again", "error", err)
		}))
	if err != nil {
		return unavailable(ctx, "subscribing to events", err)
	}
	if s.ready != nil {
		s.ready()
	}
	<-ctx.Done()
	running.Stop()
	<-running.Closed() // handle is not called after the return.
	if owner.Err() == nil {
		return ErrClosed
	}
	return nil
}

// subscribeFromNow starts at a sequence number rather than at "new": after a reconnection before the first event, "new"
// would mean the time of the reconnection. It also returns the first number from which on no frame may be missed: frames that left the
// stream while the consumer was created precede the subscription.
func (c *Conn) subscribeFromNow(ctx context.Context) (jetstream.Consumer, uint64, error) {
	stream, err := c.js.Stream(ctx, StreamEvents)
	if err != nil {
		return nil, 0, err
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       stream.CachedInfo().State.LastSeq + 1,
		InactiveThreshold: subscriptionThreshold,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("creating an ordered consumer: %w", err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read the end of the stream: %w", err)
	}
	return consumer, info.State.LastSeq + 1, nil
}
