package brokertest

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

// LiveIDs tests a package's live feed of ids: an id that one process publishes under the feed's name reaches another process, and
// messages that are not ids are dropped.
func LiveIDs(t *testing.T, name string, open func(*broker.Conn) *broker.LiveIDs) {
	t.Helper()
	nats := testkit.StartNATS(t, embeddednats.Options{})
	connect := func() *broker.Conn {
		c, err := broker.Connect(t.Context(), broker.Config{InProcess: nats})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	type message struct{ workspace, id uuid.UUID }
	got, ready := make(chan message), make(chan struct{})
	subscriber := connect()
	background(t, func(ctx context.Context) error {
		return open(subscriber).Subscribe(ctx, func(workspace, id uuid.UUID) {
			send(ctx, got, message{workspace, id})
		}, broker.OnReady(func() { close(ready) }))
	})
	receive(t, ready)
	from := connect()
	for _, malformed := range []string{"", "fifteen bytes..", "seventeen bytes.."} {
		require.NoError(t, from.Live(name).Publish(uuid.New(), []byte(malformed)))
	}
	want := message{uuid.New(), uuid.New()}
	require.NoError(t, open(from).Publish(want.workspace, want.id))
	require.Equal(t, want, receive(t, got))
}
