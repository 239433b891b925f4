package ratelimit

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

func TestStateOfABucket(t *testing.T) {
	t.Parallel()
	limit := Limit{Tokens: 3, Per: time.Minute, Burst: 3}
	for name, c := range map[string]struct {
		state  state
		after  time.Duration
		tokens int
		wait   time.Duration // For one token.
	}{
		"full":                           {state{0, start}, 0, 3, 0},
		"full stays full":                {state{0, start}, time.Hour, 3, 0},
		"empty, 20 s for a token":        {state{3, start}, 0, 0, 20 * time.Second},
		"empty, 19 s ago":                {state{3, start}, 19 * time.Second, 0, time.Second},
		"empty, 20 s ago":                {state{3, start}, 20 * time.Second, 1, 0},
		"empty, a minute ago":            {state{3, start}, time.Minute, 3, 0},
		"emptied with a larger burst":    {state{9, start}, 0, 0, 20 * time.Second},
		"a clock that is behind by 1 s":  {state{3, start}, -time.Second, 0, 20 * time.Second},
		"a clock that was stepped by 1h": {state{3, start.Add(time.Hour)}, 20 * time.Second, 0, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.state.refilled(limit, start.Add(c.after))
			require.Equal(t, c.tokens, s.tokens(limit))
			require.InDelta(t, c.wait, s.wait(limit, 1), float64(time.Microsecond))
		})
	}
	stepped := state{3, start.Add(time.Hour)}.refilled(limit, start)
	require.Equal(t, 1, stepped.refilled(limit, start.Add(20*time.Second)).tokens(limit), "a clock that was stepped back refills from then on")
}

// After the wait the bucket has the tokens, and not earlier, for any limit.
func TestWaitIsLongEnough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{
			Tokens: rapid.IntRange(1, 100_000).Draw(t, "tokens"), Per: time.Duration(rapid.IntRange(1, 86_400).Draw(t, "seconds")) * time.Second,
			Burst: rapid.IntRange(1, 100_000).Draw(t, "burst"),
		}
		s := state{rapid.Float64Range(0, float64(limit.Burst)).Draw(t, "missing"), start}
		n := rapid.IntRange(1, limit.Burst).Draw(t, "n")
		wait := s.wait(limit, n)
		require.GreaterOrEqual(t, s.refilled(limit, start.Add(wait)).tokens(limit), n)
		if early := wait - time.Duration(float64(time.Second)/limit.rate()*0.01) - time.Microsecond; early > 0 {
			require.Less(t, s.refilled(limit, start.Add(early)).tokens(limit), n)
		}
		require.Equal(t, s, decodeState(s.encode(), limit, start))
	})
}

func TestStatesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	limit := Limit{Tokens: 3, Per: time.Minute, Burst: 3}
	for name, text := range map[string][]byte{
		"empty": {}, "short": {1}, "long": make([]byte, stateSize+1),
		"not a number": state{math.NaN(), start}.encode(), "negative": state{-1, start}.encode(), "infinite": state{math.Inf(1), start}.encode(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, state{3, start}, decodeState(text, limit, start), "the bucket is empty and refills")
		})
	}
	require.Equal(t, state{0, start}, decodeState(nil, limit, start))
}
