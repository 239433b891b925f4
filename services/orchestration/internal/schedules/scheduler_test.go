package schedules_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// pass is as many passes as are needed, and what they cause. It returns how many deployments were scheduled.
func (w *world) pass(s *schedules.Scheduler) (scheduled int) {
	w.Helper()
	for {
		n, err := s.Pass(w.Context())
		require.NoError(w, err)
		if n == 0 {
			return scheduled
		}
		scheduled += n
		w.relay(s, w.store)
	}
}

func TestPassCreatesRunsAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.scheduler(w.store, schedules.DefaultLimits)
	daily := w.deployment("daily", cron("0 9 * * *", "Europe/Berlin"))
	minutely := w.deployment("minutely", cron("* * * * *", "UTC"))
	secondly := w.deployment("secondly", cron("* * * * * *", "UTC"))
	paused := w.deployment("none")
	require.Equal(t, 3, w.pass(s))
	require.Equal(t, []string{"11-23T08:00:00", "11-24T08:00:00", "11-25T08:00:00"}, times(w.scheduled(daily)))
	require.Len(t, w.scheduled(minutely), 60, "an hour ahead; the minute of the creation itself is over")
	require.Len(t, w.scheduled(secondly), 100)
	require.Empty(t, w.scheduled(paused))
	require.Zero(t, w.pass(s), "nothing is due any more")

	run := w.scheduled(daily)[0]
	require.Equal(t, "scheduled "+daily.GetId()+" "+daily.GetSchedules()[0].GetId()+" 2026-11-23 09:00:00+01:00", run.GetIdempotencyKey())
	require.Equal(t, []string{"auto-scheduled", "nightly"}, run.GetTags())
	require.Equal(t, "Scheduled", run.GetState().GetName())
	require.Equal(t, "Flow run scheduled", run.GetState().GetMessage())
	require.Equal(t, "SCHEDULE", run.GetCreatedBy().GetType())
	require.Equal(t, "CronSchedule", run.GetCreatedBy().GetDisplayValue())
	require.True(t, run.GetAutoScheduled())
	require.JSONEq(t, `{"a":1,"b":2}`, string(run.GetParameters()))

	// A day later there is one more, and what was there stays as it is.
	w.clock.Set(began.Add(9 * time.Hour))
	w.pass(s)
	require.Equal(t, []string{"11-23T08:00:00", "11-24T08:00:00", "11-25T08:00:00", "11-26T08:00:00"}, times(w.scheduled(daily)))
	require.Equal(t, run.GetId(), w.scheduled(daily)[0].GetId())
}

// The label of a schedule, a label of its deployment and a job variable set the priority of its runs, in this order.
func TestRunsOfSchedulesHaveAPriority(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		labels    map[string]*orchv1.Scalar
		variables string
		want      int64
	}{
		"none":                      {},
		"a label of the schedule":   {labels: map[string]*orchv1.Scalar{"orch.priority.nightly": points(9), "orch.priority": points(5)}, variables: `{"orch.priority":3}`, want: 9},
		"a label of another one":    {labels: map[string]*orchv1.Scalar{"orch.priority.hourly": points(9), "orch.priority": points(5)}, want: 5},
		"a job variable":            {labels: map[string]*orchv1.Scalar{"orch.priority": points(5)}, variables: `{"orch.priority":3}`, want: 3},
		"a label of the deployment": {labels: map[string]*orchv1.Scalar{"orch.priority": points(5)}, want: 5},
		"a job variable alone":      {variables: `{"orch.priority":3}`, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := w.deployment("daily", cron("0 9 * * *", "UTC"))
			w.edit(d, func(d *orchv1.Deployment) {
				d.Labels, d.JobVariables, d.Schedules[0].Slug = test.labels, []byte(cmp.Or(test.variables, "{}")), new("nightly")
			})
			w.pass(w.scheduler(w.store, schedules.DefaultLimits))
			run := w.scheduled(d)[0]
			require.Equal(t, test.want, run.GetPriority())
			require.Equal(t, run.GetExpectedStartTime().AsTime().Add(-time.Duration(test.want)*time.Minute), run.GetRank().AsTime())
		})
	}
}

func points(n int64) *orchv1.Scalar { return &orchv1.Scalar{Kind: &orchv1.Scalar_Integer{Integer: n}} }

func TestOneUnusableScheduleDoesNotSilenceOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.scheduler(w.store, schedules.DefaultLimits)
	d := w.deployment("mixed", cron("0 0 31 2 *", "UTC"), cron("0 * * * *", "UTC"), rrule("DTSTART:20200101T000000\nRRULE:FREQ=DAILY;UNTIL=20300101T000000Z"),
		cron("not cron", "UTC"), rrule("FREQ=YEARLY;BYWEEKNO=54"), interval(0, began))
	w.pass(s)
	require.Len(t, w.scheduled(d), 3)
}

func TestMaxScheduledRunsBoundsWhatIsAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.scheduler(w.store, schedules.DefaultLimits)
	d := w.deployment("one", cron("0 * * * *", "UTC"))
	_, err := w.deployments.Mutate(t.Context(), w.ws, uuid.MustParse(d.GetId()), store.Edit(func(next *orchv1.Deployment) error {
		next.GetSchedules()[0].MaxScheduledRuns = proto.Int64(1)
		return nil
	}, nil))
	require.NoError(t, err)
	for range 60 * 3 {
		w.pass(s)
		w.clock.Advance(time.Minute)
	}
	require.Equal(t, []string{"11-23T01:00:00", "11-23T02:00:00", "11-23T03:00:00"}, times(w.scheduled(d)))
}

// A pass leaves the rest of a backlog to the next one. Its two turns advance the oldest deployments and the newest change.
func TestAPassIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limits := schedules.DefaultLimits
	limits.PassRuns = 1
	s := w.scheduler(w.store, limits)
	const many = 350
	for i := range many {
		w.deployment(fmt.Sprint("d", i), cron("0 9 * * *", "UTC"))
	}
	oldest := w.deployment("oldest", cron("0 9 * * *", "UTC"))
	_, err := w.deployments.Mutate(t.Context(), w.ws, uuid.MustParse(oldest.GetId()), store.Edit(func(next *orchv1.Deployment) error {
		next.ScheduleDue = timestamppb.New(began.Add(-time.Hour))
		return nil
	}, nil))
	require.NoError(t, err)
	w.clock.Advance(time.Second)
	last := w.deployment("last", cron("0 9 * * *", "UTC"))
	first, err := s.Pass(t.Context())
	require.NoError(t, err)
	require.Positive(t, first)
	require.Less(t, first, many/2)
	w.relay(s, w.store)
	for _, d := range []*orchv1.Deployment{oldest, last} {
		require.NotEmpty(t, w.scheduled(d), "one pass advances both ends of the backlog: %s", d.GetName())
	}
	require.Equal(t, many+2, first+w.pass(s))

	limits.PassRuns = 320 // A batch of the oldest, and one of those that were changed last.
	s = w.scheduler(w.store, limits)
	for i := range many {
		w.deployment(fmt.Sprint("e", i), cron("0 9 * * *", "UTC"))
	}
	w.clock.Advance(time.Second)
	changed := w.deployment("changed", cron("0 9 * * *", "UTC"))
	first, err = s.Pass(t.Context())
	require.NoError(t, err)
	require.Less(t, first, many/2)
	w.relay(s, w.store)
	require.NotEmpty(t, w.scheduled(changed))
}

func TestCatchUpIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limits := schedules.DefaultLimits
	s := w.scheduler(w.store, limits)
	d := w.deployment("minutely", cron("*/10 * * * *", "UTC"))
	w.pass(s)
	require.Len(t, w.scheduled(d), 6, "an hour ahead, the creation's own time left out")
	// Nobody scheduled for ten years: an hour of it is made up for.
	w.clock.Set(began.AddDate(10, 0, 0))
	w.pass(s)
	runs := w.scheduled(d)
	require.Len(t, runs, 6+7+6)
	require.Equal(t, w.clock.Now().Add(-time.Hour), runs[6].GetExpectedStartTime().AsTime())
}

func TestRunsOfAnOlderGenerationAreDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.scheduler(w.store, schedules.DefaultLimits)
	d := w.deployment("changed", cron("0 * * * *", "UTC"))
	_, err := s.Pass(t.Context())
	require.NoError(t, err)
	// A change comes between the plan and the runs.
	_, err = w.deployments.Mutate(t.Context(), w.ws, uuid.MustParse(d.GetId()), store.Edit(func(next *orchv1.Deployment) error {
		next.ScheduleGeneration = proto.Int64(1)
		return nil
	}, nil))
	require.NoError(t, err)
	w.relay(s, w.store)
	require.Empty(t, w.scheduled(d))
}

func TestMaterialisingTwiceIsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.scheduler(w.store, schedules.DefaultLimits)
	d := w.deployment("twice", cron("0 * * * *", "UTC"))
	_, err := s.Pass(t.Context())
	require.NoError(t, err)
	effects, err := w.store.Pending(t.Context(), "deployment", store.DocumentKey{ID: uuid.MustParse(d.GetId())})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, s.Materialise(t.Context(), effects))
	}
	require.Len(t, w.scheduled(d), 3)
}
