package stream

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

// A socket is held back for what it has published before its next event is taken, and not before a pong is sent.
func TestHeldBackSocketsAnswerPings(t *testing.T) {
	t.Parallel()
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: testkit.StartNATS(t, embeddednats.Options{})})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	to := newPublishing(conn.Publisher())
	held, release := make(chan int), make(chan struct{})
	to.hold = func(events int) {
		held <- events
		<-release
	}
	in := newIntake(to, func(err error) { t.Error(err) })
	put := func() {
		end, err := in.put(&broker.Event{ID: uuid.New(), Source: "test", Type: "test"})
		require.NoError(t, err)
		require.True(t, end.ok())
	}
	put()
	require.True(t, in.flush(t.Context()), "what was put is durable, and nobody was held back")
	done := make(chan struct{})
	go func() {
		defer close(done)
		put()
	}()
	require.Equal(t, 1, <-held)
	require.True(t, in.flush(t.Context()), "the next one waits, which is nothing to a pong for those before")
	close(release)
	<-done
	require.NoError(t, in.finish())
}
