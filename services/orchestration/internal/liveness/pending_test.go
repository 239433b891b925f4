package liveness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// endsPending lets pending runs wait for a time, with a rule for those of the deployment.
func (w *world) endsPending(action orchv1.LostRunAction, timeout time.Duration) {
	w.Helper()
	w.set(&orchv1.RunTimeoutRule{DeploymentId: &w.deployed.Id, PendingTimeout: durationpb.New(timeout), OnPendingTimeout: &action})
}

// wait lets time pass, and returns when a run was lost.
func (w *world) wait(most time.Duration) time.Duration {
	w.Helper()
	return w.simulate(nil, disturbance{}, func(time.Duration) bool { return false }, most)
}

func TestPendingRunsEnd(t *testing.T) {
	t.Parallel()
	const (
		accept, abort     = orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT
		crash, reschedule = orchv1.LostRunAction_LOST_RUN_ACTION_CRASH, orchv1.LostRunAction_LOST_RUN_ACTION_RESCHEDULE
	)
	claimed := func(t *testing.T, action orchv1.LostRunAction) (*world, *orchv1.FlowRun) {
		t.Helper()
		w := newWorld(t)
		w.endsPending(action, 10*time.Minute)
		run := w.create(w.ofDeployment(0))
		require.Equal(t, accept, w.propose(run, pending).GetStatus())
		return w, run
	}
	t.Run("not without a rule", func(t *testing.T) {
		t.Parallel()
		w, run := claimed(t, crash)
		w.set()
		require.Zero(t, w.wait(time.Hour))
		require.Equal(t, pending, w.read(run).GetState().GetType())
	})
	t.Run("not of another deployment", func(t *testing.T) {
		t.Parallel()
		w, _ := claimed(t, crash)
		w.set(&orchv1.RunTimeoutRule{DeploymentId: new("4e5cbb54-4b1a-4c3e-8ae9-0ad7dcd58e65"), PendingTimeout: durationpb.New(time.Minute)})
		require.Zero(t, w.wait(time.Hour))
	})
	t.Run("crashed, and its late start is aborted", func(t *testing.T) {
		t.Parallel()
		w, run := claimed(t, crash)
		require.InDelta(t, (10 * time.Minute).Seconds(), w.wait(time.Hour).Seconds(), every.Seconds())
		state := w.read(run).GetState()
		require.Equal(t, crashed, state.GetType())
		require.Equal(t, `The run was in the state "Pending" since 2026-11-21T12:00:00Z, longer than its pending timeout of 10m0s.`, state.GetMessage())
		require.Equal(t, abort, w.propose(run, running).GetStatus())
	})
	t.Run("rescheduled, and only one start is accepted", func(t *testing.T) {
		t.Parallel()
		w, run := claimed(t, reschedule)
		require.NotZero(t, w.wait(time.Hour))
		state := w.read(run).GetState()
		require.Equal(t, scheduled, state.GetType())
		require.Equal(t, "Scheduled", state.GetName())
		require.Equal(t, abort, w.propose(run, running).GetStatus(), "the late start comes before another claim")
		require.Equal(t, accept, w.propose(run, pending).GetStatus())
		require.Equal(t, accept, w.propose(run, running).GetStatus())
		require.Equal(t, abort, w.propose(run, running).GetStatus(), "the late start comes after it")
		require.Equal(t, accept, w.propose(run, completed).GetStatus())
		require.Equal(t, abort, w.propose(run, running).GetStatus(), "the late start comes after the end")
	})
	t.Run("a worker that reports progress gains time", func(t *testing.T) {
		t.Parallel()
		w, run := claimed(t, reschedule)
		require.Zero(t, w.wait(8*time.Minute))
		call[*orchv1.OrchestrationResult](w, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
			Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: pending, Name: new("Submitting")}},
		})
		require.Zero(t, w.wait(8*time.Minute))
		require.NotZero(t, w.wait(3*time.Minute))
	})
	t.Run("a restart and a clock that steps end nothing early", func(t *testing.T) {
		t.Parallel()
		w, _ := claimed(t, reschedule)
		require.Zero(t, w.wait(8*time.Minute))
		w.restart()
		w.wall.Advance(time.Hour)
		require.Zero(t, w.wait(9*time.Minute))
		require.NotZero(t, w.wait(3*time.Minute))
	})
}
