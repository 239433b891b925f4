package broker

import (
	"context"
	"time"
)

// progress is how far a durable consumer is at a moment, over all processes that consume by its name.
type progress struct {
	at time.Time
	// Settled and pending are numbers of frames: those that it is done with, since the stream began, and those that it is
	// not done with.
	settled, pending int64
}

// progress asks how far a durable consumer is.
func (c *Conn) progress(ctx context.Context, durable string) (progress, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ctx, unbind := c.epoch.bind(ctx)
	defer unbind()
	consumer, err := c.js.Consumer(ctx, StreamEvents, durable)
	if err != nil {
		return progress{}, unavailable(ctx, "reading consumer "+durable, err)
	}
	info := consumer.CachedInfo()
	// The consumer takes every frame, so the stream's numbers count them.
	inHand := int64(info.NumAckPending)
	return progress{
		at:      time.Now(),
		settled: int64(info.Delivered.Stream) - inHand,
		pending: int64(info.NumPending) + inHand,
	}, nil
}
