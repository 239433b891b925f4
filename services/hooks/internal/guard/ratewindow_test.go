package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var start = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// In no span of its length are there more requests than the limit, and the wait that is named is exactly long enough.
func TestWindowIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		seconds := rapid.IntRange(1, 4).Draw(t, "seconds")
		w := newWindow(&orchv1.WebhookRateLimit{Requests: int64(limit), Seconds: int64(seconds)})
		span := time.Duration(seconds) * time.Second
		now := start
		var taken []time.Time
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 2000), 1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(step) * time.Millisecond)
			wait, ok := takeAll(now, w)
			if !ok {
				require.Positive(t, wait)
				require.Equal(t, taken[len(taken)-limit].Add(span), now.Add(wait), "free when the oldest leaves the span")
				continue
			}
			taken = append(taken, now)
			if n := len(taken); n > limit {
				require.GreaterOrEqual(t, now.Sub(taken[n-1-limit]), span)
			}
		}
	})
}

func TestNoWindowTakesEverything(t *testing.T) {
	t.Parallel()
	w := newWindow(nil)
	for range 1000 {
		_, ok := takeAll(start, w)
		require.True(t, ok)
	}
	require.True(t, w.same(nil))
	require.False(t, w.same(&orchv1.WebhookRateLimit{Requests: 1, Seconds: 1}))
}

// A request that one of the windows refuses uses up nothing of the others.
func TestWhatIsRefusedIsCountedNowhere(t *testing.T) {
	t.Parallel()
	narrow, wide := newWindow(limit(1)), newWindow(limit(2))
	_, ok := takeAll(start, narrow, nil, wide)
	require.True(t, ok)
	for range 10 {
		wait, ok := takeAll(start.Add(time.Second), narrow, nil, wide)
		require.False(t, ok)
		require.Equal(t, 59*time.Second, wait)
	}
	_, ok = takeAll(start.Add(30*time.Second), nil, wide)
	require.True(t, ok, "the wide window has taken one")
	wait, ok := takeAll(start.Add(30*time.Second), narrow, wide)
	require.False(t, ok)
	require.Equal(t, 30*time.Second, wait, "the longest wait")
}
