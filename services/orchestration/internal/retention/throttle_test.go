package retention

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/requestload"
)

// clients are some clients that always wait for a response, with a latency that changes.
type clients struct {
	mu      sync.Mutex
	n       float64
	latency time.Duration
	time    float64
	ended   float64
	last    time.Time
}

// busy returns clients with a latency; n may be a fraction.
func busy(n float64, latency time.Duration) *clients {
	return &clients{n: n, latency: latency, last: time.Now()}
}

// total returns the load since the start.
func (c *clients) total() requestload.Load {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.advance()
}

func (c *clients) advance() requestload.Load {
	elapsed := float64(time.Since(c.last))
	c.last = time.Now()
	c.time += c.n * elapsed
	c.ended += c.n * elapsed / float64(c.latency)
	return requestload.Load{Time: time.Duration(c.time), Ended: int64(c.ended)}
}

// setLatency changes the latency from now on.
func (c *clients) setLatency(latency time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	c.latency = latency
}

// TestShareOfTime: until the slowdown is known, deletions take half of the time without clients, and a fifth beside busy ones.
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
				limit := throttle{seen: &slowdown{}, rate: c.rate, requests: busy(c.clients, time.Hour).total}
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

// TestDeletionsYieldToClients: the more a batch slows clients, the longer the pauses; the mean slowdown keeps its bound.
func TestDeletionsYieldToClients(t *testing.T) {
	t.Parallel()
	const usual = time.Millisecond
	for name, c := range map[string]struct {
		beside time.Duration // The latency during batches.
		rate   int
		speed  float64
	}{
		"nobody notices":     {beside: usual, speed: idleShare},
		"faster by accident": {beside: usual * 9 / 10, speed: idleShare},
		"a tenth":            {beside: usual * 11 / 10, speed: idleShare},
		"a half":             {beside: usual * 3 / 2, speed: 0.1},
		"twice as long":      {beside: 2 * usual, speed: 0.05},
		"a disaster":         {beside: 100 * usual, speed: minShare},
		"a low rate":         {beside: usual, rate: 100, speed: 0.01},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				all := busy(8, usual)
				limit := throttle{seen: &slowdown{}, rate: c.rate, requests: all.total}
				limit.begin()
				const took = 10 * time.Millisecond
				var began time.Time
				const batches, learning = 400, 200
				for i := range batches {
					if i == learning {
						began = time.Now()
					}
					all.setLatency(c.beside)
					<-time.After(took)
					done := make(chan struct{})
					go func() {
						defer close(done)
						limit.pause(t.Context(), 100, took)
					}()
					synctest.Wait() // The pause has begun.
					all.setLatency(usual)
					<-done
				}
				fraction := float64(took*(batches-learning)) / float64(time.Since(began))
				require.InEpsilon(t, c.speed, fraction, 0.05)
				require.False(t, limit.quiet)
			})
		})
	}
}

func TestPauseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := throttle{seen: &slowdown{}, requests: busy(8, time.Hour).total}
		limit.begin()
		require.Equal(t, maxPause, limit.rest(1, time.Hour, 8))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.False(t, limit.pause(ctx, 1, time.Hour))
	})
}
