package destinations

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

func TestWaitsGrowWithinTheirBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		failures := rapid.Int64Range(0, 1<<40).Draw(t, "failures")
		random := rapid.Float64Range(0, 0.999999).Draw(t, "random")
		for _, wait := range []func(int64, float64) time.Duration{egress.RetryWait, probeWait} {
			got, middle := wait(failures, random), wait(failures, 0.5)
			require.InDelta(t, float64(middle), float64(got), 0.2*float64(middle)+1, "jitter")
			require.LessOrEqual(t, wait(failures, 0.5), wait(failures+1, 0.5))
			require.GreaterOrEqual(t, got, 4*time.Second)
		}
		require.LessOrEqual(t, egress.RetryWait(failures, random), egress.LongestWait*6/5)
		require.LessOrEqual(t, probeWait(failures, random), longestProbe*6/5)
	})
	require.Equal(t, egress.FirstRetry, egress.RetryWait(1, 0.5))
	require.Equal(t, 15*time.Second, egress.RetryWait(2, 0.5))
	require.Equal(t, egress.LongestWait, egress.RetryWait(30, 0.5))
}

func TestRetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "30": 30 * time.Second, "1000000000": longestRetryAfter, "99999999999999999999999": longestRetryAfter,
		"-5": 0, "soon": 0, "1.5": 0,
		noon.Add(time.Minute).Format(http.TimeFormat): time.Minute, noon.Add(-time.Minute).Format(http.TimeFormat): 0,
		noon.AddDate(10, 0, 0).Format(http.TimeFormat): longestRetryAfter,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, retryAfter(http.Header{"Retry-After": {text}}, noon))
		})
	}
}

// The circuit opens after consecutive failures, or for a pause that the destination asked for.
func TestTheCircuitOpens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		failures := rapid.Int64Range(1, 50).Draw(t, "failures")
		pause := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "pause"))
		var c *orchv1.DestinationCircuit
		for range failures {
			c = afterFailure(c, "down", pause, noon, 0.5)
		}
		require.Equal(t, failures, c.GetFailures())
		require.Equal(t, failures >= failuresToOpen, c.FailingSince != nil)
		require.Equal(t, failures >= failuresToOpen || pause > 0, probing(c))
		if probing(c) {
			require.GreaterOrEqual(t, c.GetProbe().AsTime().Sub(noon), pause)
			require.LessOrEqual(t, c.GetProbe().AsTime().Sub(noon), max(pause, longestProbe*6/5))
		}
		health := healthOf(c)
		require.Equal(t, "down", health.GetCause())
	})
	require.Equal(t, orchv1.DestinationStatus_DESTINATION_STATUS_HEALTHY, healthOf(nil).GetStatus())
}

// Deliveries of one key are one chain in their order, whatever the others are.
func TestChainsKeepTheOrderOfKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.IntRange(-1, 3)).Draw(t, "keys")
		page := make([]*orchv1.DestinationDelivery, len(keys))
		for i, k := range keys {
			page[i] = &orchv1.DestinationDelivery{Sequence: int64(i)}
			if k >= 0 {
				key := string(rune('a' + k))
				page[i].Key = &key
			}
		}
		n, first := 0, int64(-1)
		for _, chain := range chains(page) {
			require.Greater(t, chain[0].GetSequence(), first, "chains begin in the order of their first deliveries")
			first = chain[0].GetSequence()
			for i, d := range chain {
				require.Equal(t, chain[0].Key, d.Key)
				require.True(t, i == 0 || chain[0].Key != nil)
				require.True(t, i == 0 || chain[i-1].GetSequence() < d.GetSequence())
				n++
			}
		}
		require.Equal(t, len(page), n)
	})
}
