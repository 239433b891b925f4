package brokertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// restart: acknowledged events are there after the broker was stopped and started, for old connections and new ones.
func restart(t *testing.T, b Broker) {
	c := connect(t, b)
	want := events(300)
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want[:200]))
	for _, e := range want[200:] {
		require.NoError(t, c.Publisher().Publish(t.Context(), e))
	}
	b.Stop(t)
	b.Start(t)
	got, _ := consume(t, connect(t, b), broker.DurablePersist)
	receiveAll(t, got, want)
	more := events(5)
	require.NoError(t, c.Publisher().PublishAll(t.Context(), more))
	receiveAll(t, got, more)
}

// subscribeFromNow: a feed gets the events that are published after it was ready, in order, and none from before; it survives a
// restart of the broker, and holds no event back from leaving the stream.
func subscribeFromNow(t *testing.T, b Broker) {
	c := connect(t, b)
	require.NoError(t, c.Publisher().PublishAll(t.Context(), events(5)))
	got := make(chan broker.Event)
	ready := make(chan struct{})
	background(t, func(ctx context.Context) error {
		return c.Subscribe(ctx, func(e broker.Event) { send(ctx, got, e) }, broker.OnReady(func() { close(ready) }))
	})
	receive(t, ready)
	want := events(600)
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	for _, w := range want {
		require.Equal(t, w, receive(t, got))
	}

	b.Stop(t)
	b.Start(t)
	want = events(3)
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	receiveAll(t, got, want)
}
