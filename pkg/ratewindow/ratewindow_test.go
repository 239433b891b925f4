package ratewindow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/ratewindow"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var start = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// In no span of its length does a window take more than its limit, and the wait that it names is exactly long enough.
func TestWindowIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		span := time.Duration(rapid.IntRange(1, 4).Draw(t, "seconds")) * time.Second
		w := ratewindow.New(limit, span)
		now := start
		var taken []time.Time
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "step")) * time.Millisecond)
			n := rapid.IntRange(1, limit).Draw(t, "n")
			full, wait := ratewindow.Take(now, n, w)
			if full != nil {
				require.Same(t, w, full)
				require.Positive(t, wait)
				require.Equal(t, taken[len(taken)+n-limit-1].Add(span), now.Add(wait), "free when enough of the oldest leave the span")
				continue
			}
			for range n {
				taken = append(taken, now)
			}
			if over := len(taken) - limit; over > 0 {
				require.GreaterOrEqual(t, now.Sub(taken[over-1]), span)
			}
		}
	})
}

func TestNoWindowTakesEverything(t *testing.T) {
	t.Parallel()
	var none *ratewindow.Window
	for range 1000 {
		full, _ := ratewindow.Take(start, 1, none)
		require.Nil(t, full)
	}
	require.False(t, none.Is(1, time.Second))
	require.True(t, ratewindow.New(1, time.Second).Is(1, time.Second))
}

// A request that one of the windows refuses uses up nothing of the others.
func TestRefusedRequestsCountNowhere(t *testing.T) {
	t.Parallel()
	narrow, wide := ratewindow.New(1, time.Minute), ratewindow.New(2, time.Minute)
	full, _ := ratewindow.Take(start, 1, narrow, nil, wide)
	require.Nil(t, full)
	for range 10 {
		full, wait := ratewindow.Take(start.Add(time.Second), 1, narrow, nil, wide)
		require.Same(t, narrow, full)
		require.Equal(t, 59*time.Second, wait)
	}
	full, _ = ratewindow.Take(start.Add(30*time.Second), 1, nil, wide)
	require.Nil(t, full, "the wide window has taken one")
	_, wait := ratewindow.Take(start.Add(30*time.Second), 1, narrow, wide)
	require.Equal(t, 30*time.Second, wait, "the longest wait")
	_, wait = ratewindow.Take(start.Add(30*time.Second), 2, wide)
	require.Equal(t, time.Minute, wait, "both that it has taken must leave")
}
