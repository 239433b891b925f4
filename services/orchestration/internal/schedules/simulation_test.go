package schedules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// expected are the times of a deployment's schedules within a span, the first one left out.
func expected(t testing.TB, d *orchv1.Deployment, from, to time.Time) map[string]bool {
	all := map[string]bool{}
	for _, sched := range d.GetSchedules() {
		s, err := schedules.Parse(sched.GetSchedule(), from)
		require.NoError(t, err)
		for at, err := range s.Times(from.Add(time.Microsecond)) {
			require.NoError(t, err)
			if at.After(to) {
				break
			}
			all[sched.GetId()+at.UTC().String()] = true
		}
	}
	return all
}

// requireOnce tests that every expected run within a span exists once.
func (w *world) requireOnce(all []*orchv1.Deployment, to time.Time) {
	w.Helper()
	found := map[string]int{}
	require.NoError(w, w.runs.Each(w.Context(), w.ws, store.Query{Sort: bson.D{{Key: "_id", Value: 1}}}, func(run *orchv1.FlowRun) bool {
		if at := run.GetExpectedStartTime().AsTime(); !at.After(to) {
			found[run.GetCreatedBy().GetId()+at.String()]++
		}
		return true
	}))
	want := 0
	for _, d := range all {
		for key := range expected(w, d, began, to) {
			want++
			if found[key] != 1 {
				w.Fatalf("run %s exists %d times", key, found[key])
			}
		}
	}
	require.Len(w, found, want)
}

// Thirty days of 1,000 schedules: every run exists once. In short mode there are 200 schedules, because the race detector
// needs minutes for 1,000.
func TestThirtyDays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.scheduler(w.store, schedules.DefaultLimits)
	deployments := 50
	if testing.Short() {
		deployments = 10
	}
	var all []*orchv1.Deployment
	for i := range deployments {
		var several []*orchv1.Schedule
		for j := range 20 {
			switch j % 3 {
			case 0:
				several = append(several, cron(fmt.Sprintf("%d %d * * %d", i, j, (i+j)%7), "Europe/Berlin"))
			case 1:
				several = append(several, interval(time.Duration(24+j)*time.Hour, began.Add(time.Duration(i)*time.Minute)))
			default:
				several = append(several, rrule(fmt.Sprintf("FREQ=WEEKLY;BYDAY=MO,TH;BYHOUR=%d;BYMINUTE=%d;BYSECOND=0", j, i)))
			}
		}
		all = append(all, w.deployment(fmt.Sprint("d", i), several...))
	}
	end := began.AddDate(0, 0, 30)
	for w.clock.Now().Before(end) {
		w.pass(s)
		w.clock.Advance(8 * time.Hour)
	}
	w.pass(s)
	w.requireOnce(all, end)
}
