package broker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A publisher waits no longer than the shorter of both timeouts, and its event is then abandoned.
func TestPublishWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ timeout, ackTimeout time.Duration }{{time.Millisecond, time.Hour}, {time.Hour, time.Millisecond}} {
		p := unconnected(1, 10)
		p.cfg = Config{AckTimeout: c.ackTimeout, QueueBytes: 1 << 20, QueueEvents: 10}
		queue := make(chan *waiter, 1)
		p.committers[0] = &committer{queue: queue} // It never commits.
		err := p.PublishWithin(t.Context(), c.timeout, testEvent())
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, "within 1ms")
		require.True(t, (<-queue).abandoned.Load())
	}
}
