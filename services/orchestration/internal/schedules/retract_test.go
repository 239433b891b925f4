package schedules_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// hookClock calls a function once, when the time is read for the n-th time after it was armed. A replica that executes an
// effect reads the time after the deployment and before the insertion.
type hookClock struct {
	clock.Clock

	mu   sync.Mutex
	n    int
	hook func()
}

func (c *hookClock) arm(n int, hook func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.hook = n, hook
}

func (c *hookClock) Now() time.Time {
	c.mu.Lock()
	c.n--
	var hook func()
	if c.n == 0 {
		hook, c.hook = c.hook, nil
	}
	c.mu.Unlock()
	if hook != nil {
		hook()
	}
	return c.Clock.Now()
}

// unstarted executes the deletion of runs that a change of a deployment causes.
func (w *world) unstarted(d *orchv1.Deployment, which flowruns.Unstarted, generation int64) {
	w.Helper()
	e := flowruns.DeleteUnstarted(w.store, w.ws, uuid.MustParse(d.GetId()), which, generation)
	require.NoError(w, w.flowRuns(w.store).DeleteUnstartedRuns(w.Context(), []store.Effect{e}))
}

func (w *world) delete(d *orchv1.Deployment) {
	w.Helper()
	require.NoError(w, w.deployments.Delete(w.Context(), w.ws, uuid.MustParse(d.GetId()), func(*orchv1.Deployment) ([]store.Effect, error) {
		return nil, nil
	}))
	w.unstarted(d, flowruns.AnyScheduled, 0)
}

// Another replica deletes or changes a deployment while its runs are inserted: after the deployment was read.
func TestRunsOfADeploymentThatChangesDuringTheirInsertionAreRetracted(t *testing.T) {
	t.Parallel()
	change := func(edit func(*orchv1.Deployment), which flowruns.Unstarted) func(*world, *orchv1.Deployment) {
		return func(w *world, d *orchv1.Deployment) {
			w.edit(d, edit)
			w.unstarted(d, which, 1)
		}
	}
	for name, meanwhile := range map[string]func(*world, *orchv1.Deployment){
		"deleted":          (*world).delete,
		"changed":          change(func(*orchv1.Deployment) {}, flowruns.AutoFuture),
		"paused":           change(func(d *orchv1.Deployment) { d.Paused = true }, flowruns.AutoScheduled),
		"without schedule": change(func(d *orchv1.Deployment) { d.Schedules = nil }, flowruns.AutoScheduled),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			clock := &hookClock{Clock: w.clock}
			replica := w.open(clock)
			s := w.scheduler(replica, schedules.DefaultLimits)
			d := w.deployment("d", cron("0 * * * *", "UTC"))
			_, err := s.Pass(t.Context())
			require.NoError(t, err)
			effects, err := w.store.Pending(t.Context(), "deployment", store.DocumentKey{ID: uuid.MustParse(d.GetId())})
			require.NoError(t, err)
			fired := false
			clock.arm(1, func() { fired = true; meanwhile(w, d) })
			require.NoError(t, s.Materialise(t.Context(), effects))
			require.True(t, fired)
			require.Empty(t, w.scheduled(d))
		})
	}
}

// A replica was killed between the insertion and its verification; the effect is executed again.
func TestRunsOfAnEarlierExecutionAreRetracted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.scheduler(w.store, schedules.DefaultLimits)
	d := w.deployment("d", cron("0 * * * *", "UTC"))
	_, err := s.Pass(t.Context())
	require.NoError(t, err)
	effects, err := w.store.Pending(t.Context(), "deployment", store.DocumentKey{ID: uuid.MustParse(d.GetId())})
	require.NoError(t, err)
	require.NoError(t, s.Materialise(t.Context(), effects))
	require.Len(t, w.scheduled(d), 3)
	require.NoError(t, w.deployments.Delete(t.Context(), w.ws, uuid.MustParse(d.GetId()), func(*orchv1.Deployment) ([]store.Effect, error) {
		return nil, nil
	}))
	require.NoError(t, s.Materialise(t.Context(), effects))
	require.Empty(t, w.scheduled(d))
}

// The deletion's scan comes last, on a replica whose clock is behind the one that created the runs.
func TestDeletingADeploymentDeletesRunsThatItsSchedulesCreatedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ahead := clock.NewManual(began.Add(time.Hour))
	replica := w.open(ahead)
	s := w.scheduler(replica, schedules.DefaultLimits)
	d := w.deployment("d", cron("0 * * * *", "UTC"))
	_, err := s.Pass(t.Context())
	require.NoError(t, err)
	w.relay(s, replica)
	require.NotEmpty(t, w.scheduled(d))
	w.delete(d)
	require.Empty(t, w.scheduled(d))
}

// A replica stalls between its read of the deployment and its insertion, another one executes and removes the effect, and a
// user changes the deployment. Then the stalled replica goes on, and is killed at any of the moments at which it reads the
// time. The recheck deletes what it left.
func TestRunsOfAReplicaThatStalledAndWasKilledAreDeleted(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*orchv1.Deployment){
		"changed": func(*orchv1.Deployment) {},
		"paused":  func(d *orchv1.Deployment) { d.Paused = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leftovers := 0
			for moment, killed := 1, true; killed; moment++ {
				w := newWorld(t)
				s := w.scheduler(w.store, schedules.DefaultLimits)
				d := w.deployment("d", cron("0 * * * *", "UTC"))
				_, err := s.Pass(t.Context())
				require.NoError(t, err)
				effects, err := w.store.Pending(t.Context(), "deployment", store.DocumentKey{ID: uuid.MustParse(d.GetId())})
				require.NoError(t, err)

				c := &hookClock{Clock: w.clock}
				stalled := w.scheduler(w.open(c), schedules.DefaultLimits)
				ctx, kill := context.WithCancel(t.Context())
				c.arm(1, func() {
					w.relay(s, w.store)
					require.Len(t, w.scheduled(d), 3)
					w.edit(d, edit)
					w.unstarted(d, flowruns.AutoScheduled, 1)
					require.Empty(t, w.scheduled(d))
					w.removeDeletedRuns()
					c.arm(moment, kill)
				})
				killed = stalled.Materialise(ctx, effects) != nil
				kill()
				leftovers += len(w.scheduled(d))

				w.clock.Advance(schedules.RecheckAfter + time.Minute)
				w.pass(s)
				for _, run := range w.scheduled(d) {
					require.EqualValues(t, 1, run.GetScheduleGeneration(), "killed at moment %d", moment)
				}
			}
			require.Positive(t, leftovers, "no kill left an obsolete run")
		})
	}
}

// removeDeletedRuns removes deleted runs as the relay does after their events. Then their ids can be inserted again.
func (w *world) removeDeletedRuns() {
	w.Helper()
	due, err := w.store.Due(w.Context(), query.FlowRun, began.AddDate(100, 0, 0), 1000)
	require.NoError(w, err)
	for _, one := range due {
		require.NoError(w, w.store.Remove(w.Context(), query.FlowRun, one.ID))
	}
}

// edit changes a deployment as its service does.
func (w *world) edit(d *orchv1.Deployment, edit func(*orchv1.Deployment)) {
	w.Helper()
	_, err := w.deployments.Mutate(w.Context(), w.ws, uuid.MustParse(d.GetId()), store.Edit(func(next *orchv1.Deployment) error {
		next.ScheduleGeneration = proto.Int64(1)
		next.ScheduleRecheck = timestamppb.New(w.clock.Now().Add(schedules.RecheckAfter))
		edit(next)
		next.ScheduleDue = schedules.Due(next, w.clock.Now())
		return nil
	}, nil))
	require.NoError(w, err)
}
