package broker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A consumer that has caught up waits for its pace. A lagging one yields to a burst, for a limited time.
func TestBatchLimiter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	p := batchLimiter{opts: ConsumeOptions{Pace: 20 * time.Millisecond, Yield: 500 * time.Millisecond}}
	require.LessOrEqual(t, p.delay(now), time.Duration(0), "after a long pause the first batch begins at once")
	batch := func(took time.Duration, more bool) time.Duration {
		p.begin(now)
		now = now.Add(took)
		p.end(now, more)
		delay := p.delay(now)
		now = now.Add(max(delay, 0))
		return delay
	}
	require.Equal(t, 15*time.Millisecond, batch(5*time.Millisecond, false))
	require.Equal(t, 18*time.Millisecond, batch(2*time.Millisecond, true), "the pace is the least")
	require.Equal(t, 150*time.Millisecond, batch(50*time.Millisecond, true))
	require.Equal(t, 180*time.Millisecond, batch(100*time.Millisecond, true), "until it has yielded for half a second")
	require.Equal(t, -80*time.Millisecond, batch(100*time.Millisecond, true))
	require.Equal(t, -80*time.Millisecond, batch(100*time.Millisecond, true), "it still lags")
	require.Equal(t, -80*time.Millisecond, batch(100*time.Millisecond, false), "it has caught up")
	require.Equal(t, 300*time.Millisecond, batch(100*time.Millisecond, true), "the next burst")
}
