package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestSystem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before := clock.System{}.Now()
		time.Sleep(1500 * time.Nanosecond) //nolint:forbidigo // In the synctest bubble no real time passes.
		now := clock.System{}.Now()
		require.Equal(t, time.Microsecond, now.Sub(before))
		require.Equal(t, time.UTC, now.Location())
	})
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	in := time.Date(2026, 1, 2, 3, 4, 5, 123_456_789, time.FixedZone("", 3600))
	require.Equal(t, time.Date(2026, 1, 2, 2, 4, 5, 123_456_000, time.UTC), clock.Canonical(in))
	require.Equal(t, clock.Canonical(in), clock.Canonical(clock.Canonical(in)))
	before := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	require.Equal(t, before.Add(-999), clock.Canonical(before), "towards the past, also before 1970")
}

func TestManual(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := clock.NewManual(start)
	require.Equal(t, start, c.Now())
	c.Advance(time.Hour)
	require.Equal(t, start.Add(time.Hour), c.Now())
	c.Advance(-2 * time.Hour)
	require.Equal(t, start.Add(-time.Hour), c.Now())
	c.Set(start)
	require.Equal(t, start, c.Now())
}
