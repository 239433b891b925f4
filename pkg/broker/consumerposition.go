package broker

import (
	"context"
	"time"
)

// consumerPosition is the position of a durable consumer in the stream, over all processes that consume by its name.
type consumerPosition struct {
	at time.Time
	// Numbers of frames: those settled since the stream began, and those not settled yet.
	settled, pending int64
}

// position reads the position of a durable consumer.
func (c *Conn) position(ctx context.Context, durable string) (consumerPosition, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ctx, unbind := c.epoch.bind(ctx)
	defer unbind()
	consumer, err := c.js.Consumer(ctx, StreamEvents, durable)
	if err != nil {
		return consumerPosition{}, unavailable(ctx, "read consumer "+durable, err)
	}
	info := consumer.CachedInfo()
	// The consumer has no filter, so the stream's sequence numbers count its frames.
	unacknowledged := int64(info.NumAckPending)
	return consumerPosition{
		at:      time.Now(),
		settled: int64(info.Delivered.Stream) - unacknowledged,
		pending: int64(info.NumPending) + unacknowledged,
	}, nil
}
