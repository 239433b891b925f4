package broker

import (
	"context"
	"fmt"
	"time"
)

// handledPoll is how often a durable consumer is asked how far it is.
const handledPoll = 20 * time.Millisecond

// WaitHandled waits until a durable consumer has handled every event that was acknowledged before the call. A copy of
// the data that the consumer writes is then complete up to that moment, without a copy of the stream.
func (c *Conn) WaitHandled(ctx context.Context, durable string) error {
	bound, unbind := c.epoch.bind(ctx)
	defer unbind()
	stream, err := c.js.Stream(bound, StreamEvents)
	if err != nil {
		return unavailable(ctx, "reading stream "+StreamEvents, err)
	}
	last := stream.CachedInfo().State.LastSeq
	consumer, err := stream.Consumer(bound, durable)
	if err != nil {
		return unavailable(ctx, "reading consumer "+durable, err)
	}
	for {
		info, err := consumer.Info(bound)
		if err != nil {
			return unavailable(ctx, "reading consumer "+durable, err)
		}
		// Nothing pending means that it is done, whatever the floor says: a stream whose events have all left may be empty.
		if info.AckFloor.Stream >= last || (info.NumPending == 0 && info.NumAckPending == 0) {
			return nil
		}
		select {
		case <-time.After(handledPoll):
		case <-ctx.Done():
			return fmt.Errorf("waiting for consumer %s: %w", durable, ctx.Err())
		}
	}
}
