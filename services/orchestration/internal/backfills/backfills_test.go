package backfills

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	runCompleted  = orchv1.StateType_STATE_TYPE_COMPLETED
	runFailed     = orchv1.StateType_STATE_TYPE_FAILED
	runRunning    = orchv1.StateType_STATE_TYPE_RUNNING
	runCancelled  = orchv1.StateType_STATE_TYPE_CANCELLED
	runCancelling = orchv1.StateType_STATE_TYPE_CANCELLING
)

// A backfill creates a run for each time, oldest first, and never more unfinished ones than it may have.
func TestABackfillCreatesItsRunsOldestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.create(5, 2)
	require.Equal(t, "running 0/5 unfinished 0 completed 0 failed 0 cancelled 0", w.progress(b))
	require.Equal(t, 1, w.pass())
	require.Equal(t, "running 2/5 unfinished 2 completed 0 failed 0 cancelled 0", w.progress(b))
	require.Zero(t, w.pass(), "nothing has changed")

	runs := w.all(b)
	require.Len(t, runs, 2)
	first := runs[0]
	require.Equal(t, time.Date(2026, 11, 19, 6, 0, 0, 0, time.UTC), first.GetExpectedStartTime().AsTime())
	require.Equal(t, time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC), runs[1].GetExpectedStartTime().AsTime())
	require.Equal(t, began, first.GetNextScheduledStartTime().AsTime(), "it is due now, and not late")
	require.Nil(t, first.StartDeadline, "the deployment skips late runs of its schedules alone")
	require.JSONEq(t, `{"a":1,"b":20,"c":300}`, string(first.GetParameters()))
	require.Equal(t, "BACKFILL", first.GetCreatedBy().GetType())
	require.Equal(t, b.GetId(), first.GetLabels()["orch.backfill.id"].GetStringValue())
	require.Equal(t, []string{"backfill", "nightly"}, first.GetTags())
	require.False(t, first.GetAutoScheduled())

	w.set(first, runCompleted)
	require.Equal(t, 1, w.pass())
	require.Equal(t, "running 3/5 unfinished 2 completed 1 failed 0 cancelled 0", w.progress(b))
	w.end(b, runFailed)
	w.pass()
	require.Equal(t, "running 5/5 unfinished 2 completed 1 failed 2 cancelled 0", w.progress(b))
	w.end(b, runCompleted)
	w.pass()
	require.Equal(t, "completed 5/5 unfinished 0 completed 3 failed 2 cancelled 0", w.progress(b))
	require.NotNil(t, w.read(b).GetEnded())
	require.Zero(t, w.pass())
	require.Len(t, w.all(b), 5)
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.create(3, 1)
	w.pass()
	for range 2 { // Repeating it changes nothing.
		paused, err := w.service.PauseBackfill(w.ctx, &orchv1.PauseBackfillRequest{Id: b.GetId()})
		require.NoError(t, err)
		require.Equal(t, "paused", stateName(paused.GetState()))
	}
	w.end(b, runCompleted)
	w.pass()
	w.pass()
	require.Equal(t, "paused 1/3 unfinished 0 completed 1 failed 0 cancelled 0", w.progress(b))
	_, err := w.service.ResumeBackfill(w.ctx, &orchv1.ResumeBackfillRequest{Id: b.GetId()})
	require.NoError(t, err)
	for range 2 {
		w.pass()
		w.end(b, runCompleted)
	}
	w.pass()
	require.Equal(t, "completed 3/3 unfinished 0 completed 3 failed 0 cancelled 0", w.progress(b))
	_, err = w.service.PauseBackfill(w.ctx, &orchv1.PauseBackfillRequest{Id: b.GetId()})
	require.Equal(t, "The backfill is completed and cannot be paused.", rpc.HTTPError(err).GetDetail())
}

func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.create(10, 3)
	w.pass()
	started := w.all(b)[1]
	w.set(started, runRunning)
	_, err := w.service.CancelBackfill(w.ctx, &orchv1.CancelBackfillRequest{Id: b.GetId()})
	require.NoError(t, err)
	_, err = w.service.DeleteBackfill(w.ctx, &orchv1.DeleteBackfillRequest{Id: b.GetId()})
	require.Equal(t, int32(409), rpc.HTTPError(err).GetStatus())
	w.pass()
	require.Equal(t, "cancelled 3/10 unfinished 1 completed 0 failed 0 cancelled 2", w.progress(b))
	runs := w.all(b)
	require.Equal(t, runCancelled, runs[0].GetState().GetType())
	require.Equal(t, "The backfill was cancelled.", runs[0].GetState().GetMessage())
	require.Equal(t, runCancelling, runs[1].GetState().GetType())
	w.set(started, runCancelled)
	w.pass()
	require.Equal(t, "cancelled 3/10 unfinished 0 completed 0 failed 0 cancelled 3", w.progress(b))
	_, err = w.service.DeleteBackfill(w.ctx, &orchv1.DeleteBackfillRequest{Id: b.GetId()})
	require.NoError(t, err)
	_, err = w.service.ReadBackfill(w.ctx, &orchv1.ReadBackfillRequest{Id: b.GetId()})
	require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
	require.Len(t, w.all(b), 3, "its runs stay")
}

// A crash after each step, and passes of several replicas at once, create each run once.
func TestEachRunIsCreatedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const days = 40
	b := w.create(days, 7)
	key := open{w.ws, uuid.MustParse(b.GetId())}
	for w.read(b).GetOpen() {
		var group sync.WaitGroup
		for range 3 {
			replica := w.replica()
			group.Go(func() {
				_, _, err := replica.step(t.Context(), key) // The replica stops before it stores the runs of the times that the step added.
				if err != nil {
					require.ErrorIs(t, err, store.ErrContention)
				}
			})
		}
		group.Wait()
		w.end(b, runCompleted)
	}
	require.Equal(t, "completed 40/40 unfinished 0 completed 40 failed 0 cancelled 0", w.progress(b))
	times := map[time.Time]int{}
	for _, run := range w.all(b) {
		times[run.GetExpectedStartTime().AsTime()]++
	}
	require.Len(t, times, days)
	require.Len(t, w.all(b), days)
}

// A cancellation may come between the write of a time and the storing of its run. A replica that stores it after all does not leave a
// run behind.
func TestACancellationMissesNoRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.create(5, 2)
	key := open{w.ws, uuid.MustParse(b.GetId())}
	_, _, err := w.service.step(t.Context(), key)
	require.NoError(t, err)
	before := w.read(b)
	_, err = w.service.CancelBackfill(w.ctx, &orchv1.CancelBackfillRequest{Id: b.GetId()})
	require.NoError(t, err)
	w.pass()
	require.Equal(t, "cancelled 2/5 unfinished 2 completed 0 failed 0 cancelled 0", w.progress(b))
	require.NoError(t, w.service.storeRuns(t.Context(), w.ws, before, w.deployment, w.flow))
	w.pass()
	require.Equal(t, "cancelled 2/5 unfinished 0 completed 0 failed 0 cancelled 2", w.progress(b))

	other := w.create(5, 2)
	_, _, err = w.service.step(t.Context(), open{w.ws, uuid.MustParse(other.GetId())})
	require.NoError(t, err)
	_, err = w.service.CancelBackfill(w.ctx, &orchv1.CancelBackfillRequest{Id: other.GetId()})
	require.NoError(t, err)
	w.clock.Advance(lateInsert)
	w.pass()
	require.Equal(t, "cancelled 2/5 unfinished 0 completed 0 failed 0 cancelled 2", w.progress(other), "nobody stores them any more")
	require.Empty(t, w.all(other))
}

func TestADeletedRunStaysDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.create(2, 1)
	w.pass()
	_, err := w.service.runs.DeleteFlowRun(w.ctx, &orchv1.DeleteFlowRunRequest{Id: w.all(b)[0].GetId()})
	require.NoError(t, err)
	w.pass()
	require.Equal(t, "running 2/2 unfinished 1 completed 0 failed 0 cancelled 1", w.progress(b))
	require.Len(t, w.all(b), 1)
}

func TestABackfillOfADeletedDeploymentIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.create(5, 1)
	w.pass()
	w.set(w.all(b)[0], runRunning)
	require.NoError(t, w.deployments().Delete(t.Context(), w.ws, uuid.MustParse(w.deployment.GetId()), func(*orchv1.Deployment) ([]store.Effect, error) {
		return nil, nil
	}))
	w.pass()
	w.pass()
	require.Equal(t, "cancelled 1/5 unfinished 1 completed 0 failed 0 cancelled 0", w.progress(b))
	require.Equal(t, "The deployment was deleted.", w.read(b).GetMessage())
	require.Equal(t, runRunning, w.all(b)[0].GetState().GetType(), "its process goes on")
	w.end(b, runCompleted)
	w.pass()
	require.Equal(t, "cancelled 1/5 unfinished 0 completed 1 failed 0 cancelled 0", w.progress(b))
}

func TestRefusedBackfills(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seconds, two := w.deployed(everySecond()), w.deployed(daily(), daily())
	for name, c := range map[string]struct {
		edit   func(*orchv1.BackfillCreate)
		status int32
		want   string
	}{
		"the future":                  {func(c *orchv1.BackfillCreate) { c.EndTime = timestamppb.New(began.Add(time.Second)) }, 422, "Value error, the range ends in the future, for which the scheduler creates the runs"},
		"a range that ends first":     {func(c *orchv1.BackfillCreate) { c.EndTime = timestamppb.New(began.AddDate(-1, 0, 0)) }, 422, "Value error, the range ends before it begins"},
		"no times":                    {func(c *orchv1.BackfillCreate) { c.StartTime = timestamppb.New(began.Add(-time.Minute)) }, 422, "Value error, the schedule has no times in the range"},
		"a hundred years of each day": {func(c *orchv1.BackfillCreate) { c.StartTime = timestamppb.New(began.AddDate(-100, 0, 0)) }, 422, "Value error, the schedule has more than 10000 times in the range: the last of the first 10001 is 1954-04-11T06:00:00Z"},
		"an unknown deployment":       {func(c *orchv1.BackfillCreate) { c.DeploymentId = uuid.NewString() }, 404, "Deployment not found"},
		"an unknown schedule":         {func(c *orchv1.BackfillCreate) { c.ScheduleId = new(uuid.NewString()) }, 404, "Schedule not found."},
		"one of two schedules":        {func(c *orchv1.BackfillCreate) { c.DeploymentId = two.GetId() }, 422, "Value error, the deployment has 2 schedules, so the backfill has to name one"},
		"a hundred years of each second": {func(c *orchv1.BackfillCreate) {
			c.DeploymentId, c.StartTime = seconds.GetId(), timestamppb.New(began.AddDate(-100, 0, 0))
		}, 422, "Value error, the schedule has more than 10000 times in the range: the last of the first 10001 is 1926-11-23T14:46:40Z"},
	} {
		t.Run(name, func(t *testing.T) {
			request := proto.CloneOf(w.request(5, 1))
			c.edit(request)
			require.Equal(t, c.want, w.refused(c.status, request))
		})
	}
}

func TestTheNumberOfBackfillsIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range maxOpen {
		w.create(1, 1)
	}
	require.Equal(t, "The workspace has 50 backfills that have not ended.", w.refused(409, w.request(1, 1)))
	list, err := w.service.ReadBackfills(w.ctx, &orchv1.ReadBackfillsRequest{Query: &orchv1.BackfillQuery{DeploymentId: new(w.deployment.GetId())}})
	require.NoError(t, err)
	require.Len(t, list.GetBackfills(), maxOpen)
	require.Greater(t, list.GetBackfills()[0].GetId(), list.GetBackfills()[1].GetId(), "newest first")
	list, err = w.service.ReadBackfills(w.ctx, &orchv1.ReadBackfillsRequest{Query: &orchv1.BackfillQuery{DeploymentId: new(uuid.NewString())}})
	require.NoError(t, err)
	require.Empty(t, list.GetBackfills())
}
