package flowruns

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func (w *world) task(every time.Duration, do func(context.Context) (int, error)) *leader.Task {
	return leader.NewTask(w.store, w.Name(), every, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
		_, err := do(ctx)
		return err
	})
}

func TestPausesExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pause := func(after time.Duration) *orchv1.FlowRun {
		run := w.run()
		w.set(run, &orchv1.StateCreate{Type: running})
		w.set(run, &orchv1.StateCreate{Type: paused, StateDetails: &orchv1.StateDetails{PauseTimeout: timestamppb.New(w.clock.Now().Add(after))}})
		return run
	}
	short, long := pause(time.Minute), pause(time.Hour)
	endless := w.run()
	w.set(endless, &orchv1.StateCreate{Type: paused})
	deleted := pause(time.Minute)
	require.NoError(t, w.service.delete(t.Context(), w.ws, uuid.MustParse(deleted.GetId())))

	task := w.task(5*time.Second, w.service.ExpirePauses)
	for range 12 { // Up to the minute, and not beyond it.
		task.Tick(t.Context())
		w.clock.Advance(5 * time.Second)
	}
	require.Equal(t, paused, w.state(short).GetType())
	w.clock.Advance(5 * time.Second)
	task.Tick(t.Context())
	require.Equal(t, failed, w.state(short).GetType())
	require.Equal(t, "The flow was paused and never resumed.", w.state(short).GetMessage())
	require.Equal(t, paused, w.state(long).GetType())
	require.Equal(t, paused, w.state(endless).GetType(), "a pause without end")
}

func TestLateRunsAreMarkedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan := func(name string, in time.Duration) *orchv1.FlowRun {
		return w.run(func(c *orchv1.FlowRunCreate) {
			c.State = &orchv1.StateCreate{Type: scheduled, Name: &name, StateDetails: &orchv1.StateDetails{ScheduledTime: timestamppb.New(w.clock.Now().Add(in))}}
		})
	}
	soon, later, retry := plan("Scheduled", 10*time.Second), plan("Scheduled", time.Hour), plan("AwaitingRetry", time.Second)
	taken := plan("Scheduled", time.Second)
	w.set(taken, &orchv1.StateCreate{Type: pending})
	many := make([]*orchv1.FlowRun, 0, sweepBatch+1)
	for range cap(many) {
		many = append(many, plan("Scheduled", 10*time.Second))
	}
	due := w.state(soon).GetStateDetails().GetScheduledTime().AsTime()

	task := w.task(5*time.Second, w.service.MarkLate)
	w.clock.Advance(25 * time.Second)
	task.Tick(t.Context())
	require.Equal(t, "Scheduled", w.state(soon).GetName(), "fifteen seconds are no delay")
	w.clock.Advance(5 * time.Second)
	task.Tick(t.Context())
	late := w.state(soon)
	require.Equal(t, "Late", late.GetName())
	require.Equal(t, due, late.GetStateDetails().GetScheduledTime().AsTime(), "it keeps its time")
	for _, run := range many {
		require.Equal(t, "Late", w.state(run).GetName(), "more than one batch")
	}
	require.Equal(t, "Scheduled", w.state(later).GetName())
	require.Equal(t, "AwaitingRetry", w.state(retry).GetName())
	require.Equal(t, pending, w.state(taken).GetType())
	w.clock.Advance(time.Minute)
	task.Tick(t.Context())
	require.Equal(t, late.GetId(), w.state(soon).GetId(), "late is said once")
}

func TestCancellationsAreFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tasks := store.NewCollection(w.store, query.TaskRun, &orchv1.TaskRun{})
	subflow := func(parent *orchv1.FlowRun, edits ...func(*orchv1.FlowRunCreate)) *orchv1.FlowRun {
		task := &orchv1.TaskRun{Id: uuid.NewString(), FlowRunId: new(parent.GetId()), TaskKey: "sub", DynamicKey: uuid.NewString()}
		require.NoError(t, tasks.Insert(t.Context(), w.ws, task))
		run := w.run(append(edits, func(c *orchv1.FlowRunCreate) { c.ParentTaskRunId = &task.Id })...)
		w.set(run, &orchv1.StateCreate{Type: running})
		return run
	}
	parent, other, stuck := w.run(), w.run(), w.run()
	child := subflow(parent)
	grandchild := subflow(child)
	deployed := subflow(parent, func(c *orchv1.FlowRunCreate) { c.DeploymentId = new(uuid.NewString()) })
	ended := subflow(parent)
	w.set(ended, &orchv1.StateCreate{Type: failed})
	elsewhere := subflow(other)
	w.set(parent, &orchv1.StateCreate{Type: cancelled})
	w.set(stuck, &orchv1.StateCreate{Type: cancelling})

	notified := map[string]bool{}
	w.service.endTaskRuns = func(_ context.Context, ws uuid.UUID, runs []uuid.UUID, state *orchv1.StateCreate) error {
		require.Equal(t, cancelled, state.GetType())
		require.Equal(t, w.ws, ws)
		for _, run := range runs {
			notified[run.String()] = true
		}
		return nil
	}
	task := w.task(20*time.Second, w.service.CleanUpCancellations)
	task.Tick(t.Context())
	require.Equal(t, cancelled, w.state(child).GetType())
	require.Equal(t, "The parent flow run was cancelled.", w.state(child).GetMessage())
	require.Equal(t, cancelling, w.state(deployed).GetType(), "its own process is asked to stop")
	require.Equal(t, failed, w.state(ended).GetType())
	require.Equal(t, running, w.state(elsewhere).GetType())
	require.Equal(t, cancelling, w.state(stuck).GetType())
	require.True(t, notified[parent.GetId()])
	require.False(t, notified[other.GetId()])

	w.clock.Advance(20 * time.Second)
	task.Tick(t.Context())
	require.Equal(t, cancelled, w.state(grandchild).GetType(), "one generation after the other")
	w.clock.Advance(5 * time.Minute)
	task.Tick(t.Context())
	require.Equal(t, cancelled, w.state(stuck).GetType())
	require.Equal(t, cancelled, w.state(deployed).GetType())
}
