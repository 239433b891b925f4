package retention

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// clients returns the request time of some clients, of which each always waits for a response.
func clients(n float64) func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Duration(n * float64(time.Since(began))) }
}

// TestShareOfTime: deletions take half of the time without clients, and a fifth beside busy ones.
func TestShareOfTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		clients float64
		rate    int
		want    time.Duration // For 100 documents in 10 ms.
	}{
		"idle":            {0, 0, 20 * time.Millisecond},
		"half a client":   {0.5, 0, 28571 * time.Microsecond},
		"a client":        {1, 0, 50 * time.Millisecond},
		"many clients":    {64, 0, 50 * time.Millisecond},
		"rate":            {0, 500, 200 * time.Millisecond},
		"low rate":        {0, 10, 10 * time.Second},
		"rate of no harm": {1, 5000, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				limit := throttle{rate: c.rate, requests: clients(c.clients)}
				limit.begin()
				began := time.Now()
				const batches = 3
				for range batches {
					<-time.After(10 * time.Millisecond)
					require.True(t, limit.pause(t.Context(), 100, 10*time.Millisecond))
				}
				require.InEpsilon(t, batches*c.want, time.Since(began), 0.05)
				require.Equal(t, c.clients == 0, limit.quiet)
			})
		})
	}
}

// Time that a batch waited for the disk is no work.
func TestWaitingIsNotWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := throttle{requests: clients(8)}
		limit.begin()
		<-time.After(10 * time.Millisecond)
		require.Equal(t, 40*time.Millisecond, limit.rest(10, 10*time.Millisecond))
		require.InEpsilon(t, 20*time.Millisecond, limit.rest(10, 31*time.Millisecond), 0.05)
		require.Zero(t, limit.rest(10, 80*time.Millisecond))
		for range 1000 {
			limit.rest(10, 50*time.Millisecond)
		}
		require.Equal(t, 200*time.Millisecond, limit.rest(10, 50*time.Millisecond), "documents of another kind")
	})
}

func TestPauseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := throttle{requests: clients(8)}
		limit.begin()
		require.Equal(t, maxPause, limit.rest(1, time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.False(t, limit.pause(ctx, 1, time.Hour))
	})
}
