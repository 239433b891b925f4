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

// Live is a feed for current subscribers: messages are not stored, acknowledged or repeated. It carries copies of
// durable data, such as log lines for a screen, or hints, such as a non-empty queue. Conn.Live returns one. It is safe
// for concurrent use.
type Live struct {
	conn   *Conn
	prefix string // "live.<feed>."
}

// Live returns the live feed with a name of letters, digits, - and _. Feeds need not be created.
func (c *Conn) Live(feed string) *Live {
	return &Live{conn: c, prefix: livePrefix + feed + "."}
}

// Publish sends one message to the current subscribers of a feed. It waits neither for them nor for the broker: nil
// means that the connection accepted the message. It returns ErrUnavailable during an outage of the broker and
// ErrTooLarge beyond MinMaxPayload. The caller may reuse data afterwards.
func (l *Live) Publish(workspace uuid.UUID, data []byte) error {
	err := l.conn.nc.Publish(l.prefix+workspace.String(), data)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: live message has %d bytes, the maximum is %d", ErrTooLarge, len(data), MinMaxPayload)
	case errors.Is(err, nats.ErrConnectionClosed):
		return fmt.Errorf("publish to live feed: %w: %w", ErrClosed, err)
	default:
		return fmt.Errorf("publish to live feed: %w: %w", ErrUnavailable, err)
	}
}

// Subscribe passes every message that any process publishes from now on, of all workspaces, to handle. It returns nil
// when ctx ends. Messages of one publisher arrive in order. One goroutine calls handle, which owns data. Messages are
// lost when handle is too slow, or during an outage of the broker.
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
	err = l.conn.nc.FlushWithContext(asking) // After the response the server has registered the subscription.
	cancel()
	if err != nil {
		_ = sub.Unsubscribe() // The first error is more specific.
		<-closed
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The caller ended the subscription.
		}
		return unavailable(ctx, "subscribing to a live feed", err)
	}
	if s.ready != nil {
		s.ready()
	}
	select {
	case <-ctx.Done():
		_ = sub.Unsubscribe() // It fails only on an ended connection, which ends the subscription.
		<-closed              // handle is not called after the return.
		return nil
	case <-closed:
	}
	return ErrClosed
}
