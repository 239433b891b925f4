package schedules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
)

// After an outage, bounded passes take longer than the catch-up to reach the last deployment. It still gets the runs that
// the first one gets: those of the hour before the backlog began.
func TestABacklogDropsNoRuns(t *testing.T) {
	t.Parallel()
	const deployments, passes, every = 350, 8, 30 * time.Minute
	w := newWorld(t)
	limits := schedules.DefaultLimits
	s := w.scheduler(w.store, limits)
	var all []*orchv1.Deployment
	for i := range deployments {
		all = append(all, w.deployment(fmt.Sprint("d", i), cron("*/20 * * * *", "UTC")))
	}
	w.pass(s)

	back := began.Add(12 * time.Hour)
	w.clock.Set(back)
	limits.PassRuns = 1 // A pass ends after its first turns.
	s = w.scheduler(w.store, limits)
	for range passes {
		n, err := s.Pass(t.Context())
		require.NoError(t, err)
		require.Less(t, n, deployments/4, "a pass is bounded")
		w.relay(s, w.store)
		w.clock.Advance(every)
	}
	for _, d := range all {
		have := map[string]bool{}
		for _, text := range times(w.scheduled(d)) {
			have[text] = true
		}
		for at := back.Add(-limits.CatchUp); !at.After(back.Add(limits.MinAhead)); at = at.Add(20 * time.Minute) {
			require.True(t, have[at.Format("01-02T15:04:05")], "%s has no run at %s", d.GetName(), at)
		}
	}
}
