package schedules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// passes makes a pass every second for some time. It returns how often deployments were examined, and the most runs that one
// pass created.
func (w *world) passes(s *schedules.Scheduler, d time.Duration) (examined, most int) {
	w.Helper()
	count := func() int {
		n, err := w.runs.Count(w.Context(), w.ws, store.Query{})
		require.NoError(w, err)
		return int(n)
	}
	before := count()
	for range int(d / time.Second) {
		n, err := s.Pass(w.Context())
		require.NoError(w, err)
		if n > 0 {
			w.relay(s, w.store)
			after := count()
			most, before = max(most, after-before), after
		}
		examined += n
		w.clock.Advance(time.Second)
	}
	return examined, most
}

// everySecond checks that a deployment has one run at each second of a range.
func (w *world) everySecond(d *orchv1.Deployment, from, to time.Time) {
	w.Helper()
	found := map[time.Time]int{}
	for _, run := range w.scheduled(d) {
		found[run.GetExpectedStartTime().AsTime()]++
	}
	for at := from; !at.After(to); at = at.Add(time.Second) {
		require.Equal(w, 1, found[at], "runs at %s", at)
	}
}

// Rules of every second never end and are always due. They get their runs, in few examinations.
func TestEndlessSchedulesOfEverySecondDoNotSpin(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]*orchv1.Schedule{
		"rrule": rrule("FREQ=SECONDLY"), "interval": interval(time.Second, began), "cron": cron("* * * * * *", "UTC"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.scheduler(w.store, schedules.DefaultLimits)
			d := w.deployment("d", one)
			const within = 5 * time.Minute
			examined, most := w.passes(s, within)
			require.LessOrEqual(t, examined, int(within/(15*time.Second))+1)
			require.LessOrEqual(t, most, schedules.DefaultLimits.MaxRuns)
			w.everySecond(d, began.Add(time.Second), began.Add(within))
		})
	}
}

// Nobody scheduled for ten years, which had three hundred million runs. The time of the catch-up has all of its runs at last,
// and no pass creates more than its share.
func TestTenYearsOfEverySecondAreCaughtUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limits := schedules.DefaultLimits
	limits.CatchUp = 5 * time.Minute
	s := w.scheduler(w.store, limits)
	d := w.deployment("d", rrule("FREQ=SECONDLY"))
	w.pass(s)
	back := began.AddDate(10, 0, 0)
	w.clock.Set(back)
	_, most := w.passes(s, limits.CatchUp)
	require.LessOrEqual(t, most, limits.MaxRuns)
	w.everySecond(d, back.Add(-limits.CatchUp), back.Add(limits.CatchUp))
}
