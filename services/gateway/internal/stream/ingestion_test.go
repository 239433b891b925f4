package stream

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

// Backpressure delays the next event of a socket, never the pong for earlier ones.
func TestBackpressureDoesNotDelayPongs(t *testing.T) {
	t.Parallel()
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: testkit.StartNATS(t, embeddednats.Options{})})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	to := newPublishing(conn.Publisher())
	waiting, credit := make(chan struct{}), make(chan struct{}, 1)
	credit <- struct{}{}
	to.acquire = func() error {
		select {
		case <-credit:
		default:
			waiting <- struct{}{}
			<-credit
		}
		return nil
	}
	in := newIngestion(to, func(err error) { t.Error(err) })
	put := func() {
		end, err := in.put(&broker.Event{ID: uuid.New(), Source: "test", Type: "test"})
		require.NoError(t, err)
		require.True(t, end.ok())
	}
	put()
	require.True(t, in.flush(t.Context()), "what was put is durable")
	done := make(chan struct{})
	go func() {
		defer close(done)
		put()
	}()
	<-waiting
	require.True(t, in.flush(t.Context()), "the next event waits for credit")
	credit <- struct{}{}
	<-done
	require.NoError(t, in.finish())
}
