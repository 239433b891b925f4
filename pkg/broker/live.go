package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
)

const livePrefix = "live."

// Live is a feed for those who listen at this moment: nothing of it is stored, acknowledged or repeated. It carries
// copies of durable data or hints about it, such as log lines for a screen or the news that a queue is not empty. Get
// one by Conn.Live. It is safe for concurrent use.
type Live struct {
	conn   *Conn
	prefix string // "live.<feed>."
}

// Live is the live feed of a name, which consists of letters, digits, - and _. Feeds need not be made.
func (c *Conn) Live(feed string) *Live {
	return &Live{conn: c, prefix: livePrefix + feed + "."}
}

// Publish gives one message to the present subscribers of a feed. It does not wait for them, nor for the broker: nil
// means that the message was handed to the connection. It is ErrUnavailable while the broker is away and ErrTooLarge
// beyond MinMaxPayload. data may be used again after the return.
func (l *Live) Publish(workspace uuid.UUID, data []byte) error {
	err := l.conn.nc.Publish(l.prefix+workspace.String(), data)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %d bytes of a live feed, at most %d are taken", ErrTooLarge, len(data), MinMaxPayload)
	case errors.Is(err, nats.ErrConnectionClosed):
		return fmt.Errorf("publishing to a live feed: %w: %w", ErrClosed, err)
	default:
		return fmt.Errorf("publishing to a live feed: %w: %w", ErrUnavailable, err)
	}
}

// Subscribe gives every message that any process publishes from now on, of all workspaces, to handle until ctx ends; it
// then returns nil. Messages of one publisher come in order. handle is called by one goroutine and owns data; when it
// is too slow, or the broker away for a while, messages are missed.
func (l *Live) Subscribe(ctx context.Context, handle func(workspace uuid.UUID, data []byte), opts ...SubscribeOption) error {
	var s subscription
	for _, o := range opts {
		o(&s)
	}
	sub, err := l.conn.nc.Subscribe(l.prefix+"*", func(msg *nats.Msg) {
		workspace, err := uuid.Parse(strings.TrimPrefix(msg.Subject, l.prefix))
		if err != nil || ctx.Err() != nil {
			return
		}
		handle(workspace, msg.Data)
	})
	if err != nil {
		return unavailable(ctx, "subscribing to a live feed", err)
	}
	closed := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(closed) })
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	err = l.conn.nc.FlushWithContext(asking) // When the server has answered, it knows of the interest.
	cancel()
	if err != nil {
		_ = sub.Unsubscribe() // The error at hand says more.
		<-closed
		return unavailable(ctx, "subscribing to a live feed", err)
	}
	if s.ready != nil {
		s.ready()
	}
	select {
	case <-ctx.Done():
		_ = sub.Unsubscribe() // It fails only on a connection that has ended, and with it the subscription.
		<-closed              // handle is not called after the return.
		return nil
	case <-closed:
	}
	return ErrClosed
}
