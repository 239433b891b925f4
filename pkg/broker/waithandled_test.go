package broker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestWaitHandled(t *testing.T) {
	t.Parallel()
	nats := testkit.StartNATS(t, embeddednats.Options{Dir: t.TempDir()})
	c, err := broker.Connect(t.Context(), broker.Config{InProcess: nats})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.WaitHandled(t.Context(), broker.DurablePersist), "nothing was published")

	for range 50 {
		require.NoError(t, c.Publisher().Publish(t.Context(), broker.Event{ID: uuid.New(), Source: "test", Type: "test"}))
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.WaitHandled(short, broker.DurablePersist), context.DeadlineExceeded, "nobody handles them")

	var handled atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- c.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{}, func(_ context.Context, batch []broker.Event) error {
			handled.Add(int64(len(batch)))
			return nil
		})
	}()
	require.NoError(t, c.WaitHandled(t.Context(), broker.DurablePersist))
	require.Equal(t, int64(50), handled.Load())
	stop()
	<-done
}
