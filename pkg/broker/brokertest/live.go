package brokertest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

type liveMessage struct {
	workspace uuid.UUID
	data      string
}

func listen(t *testing.T, c *broker.Conn, feed string) <-chan liveMessage {
	t.Helper()
	got := make(chan liveMessage)
	ready := make(chan struct{})
	background(t, func(ctx context.Context) error {
		return c.Live(feed).Subscribe(ctx, func(ws uuid.UUID, data []byte) {
			send(ctx, got, liveMessage{ws, string(data)})
		}, broker.OnReady(func() { close(ready) }))
	})
	receive(t, ready)
	return got
}

// liveFeed: all who listen to a feed get its messages in order, with their workspaces, and nothing of other feeds or of
// the time before.
func liveFeed(t *testing.T, b Broker) {
	from := connect(t, b)
	require.NoError(t, from.Live("logs").Publish(uuid.New(), []byte("before")))
	one, two := listen(t, connect(t, b), "logs"), listen(t, connect(t, b), "logs")
	for i := range 100 {
		require.NoError(t, from.Live("other").Publish(uuid.New(), []byte("other")))
		want := liveMessage{uuid.New(), strconv.Itoa(i)}
		require.NoError(t, from.Live("logs").Publish(want.workspace, []byte(want.data)))
		require.Equal(t, want, receive(t, one))
		require.Equal(t, want, receive(t, two))
	}
	require.ErrorIs(t, from.Live("logs").Publish(uuid.New(), make([]byte, 64<<20)), broker.ErrTooLarge)
}

// liveFeedWithoutBroker: publishing fails at once while the broker is away; subscriptions come back with it.
func liveFeedWithoutBroker(t *testing.T, b Broker) {
	from := connect(t, b)
	got := listen(t, connect(t, b), "logs")
	b.Stop(t)
	require.Eventually(t, func() bool { return from.Healthy() != nil }, waitTimeout, time.Millisecond)
	require.ErrorIs(t, from.Live("logs").Publish(uuid.New(), []byte("lost")), broker.ErrUnavailable)
	b.Start(t)
	deadline := time.Now().Add(waitTimeout)
	for {
		require.True(t, time.Now().Before(deadline), "the feed did not come back")
		_ = from.Live("logs").Publish(uuid.New(), []byte("again")) // It may still be away.
		select {
		case m := <-got:
			require.Equal(t, "again", m.data)
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
