package liveness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestWhichRunsAreLostWithTheirWorker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		start func(w *world, run *orchv1.FlowRun)
		want  orchv1.StateType
	}{
		{"a run that the worker executes", func(w *world, run *orchv1.FlowRun) { w.submit(run, "process") }, crashed},
		{"without a rule", func(w *world, run *orchv1.FlowRun) {
			w.set()
			w.submit(run, "process")
		}, running},
		{"a run in a container", func(w *world, run *orchv1.FlowRun) { w.submit(run, "docker") }, running},
		{"a run of an unknown worker", func(w *world, run *orchv1.FlowRun) { w.propose(run, running) }, running},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.withWorker()
			run := w.create()
			c.start(w, run)
			w.simulate(nil, disturbance{}, func(elapsed time.Duration) bool { return elapsed < 20*time.Minute }, time.Hour)
			state := w.read(run).GetState()
			require.Equal(t, c.want, state.GetType())
			if c.want == crashed {
				require.Contains(t, state.GetMessage(),
					`The last heartbeat was received at 2026-11-21T12:18:00Z from worker "Night Shift", which executes the run, and 3 intervals of 3m0s have passed`)
			}
		})
	}
}

// The heartbeats of a worker say nothing about a run that sends its own.
func TestARunWithHeartbeatsIsLostAlthoughItsWorkerIsAlive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withWorker()
	run := w.create()
	w.submit(run, "process")
	w.beat(run, 0, 0)
	lost := w.simulate(nil, disturbance{}, func(time.Duration) bool { return true }, time.Hour)
	require.InDelta(t, (9 * time.Minute).Seconds(), lost.Seconds(), every.Seconds())
	require.Contains(t, w.read(run).GetState().GetMessage(), "from a client of version 3.9.1")
}

// Events that a run causes acquit it, although its worker is gone: its process may have outlived the worker.
func TestEventsOfARunWithoutAWorkerAcquitIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withWorker()
	run := w.create()
	w.submit(run, "process")
	busy := disturbance{at: func(w *world, elapsed time.Duration) (bool, bool) {
		if elapsed%time.Minute == 0 {
			w.send("orch.task-run.Completed", "orch.task-run.a", 0, 0, "orch.flow-run."+run.GetId())
		}
		return true, true
	}}
	require.Zero(t, w.simulate(nil, busy, func(elapsed time.Duration) bool { return elapsed == 0 }, time.Hour))
}

// A worker whose event has expired is unknown, so its runs are no longer judged.
func TestARunWhoseSubmissionExpiredIsNotLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withWorker()
	run := w.create()
	w.submit(run, "process")
	w.workerBeat(time.Minute)
	require.Zero(t, w.pass())
	require.NoError(t, w.stored.DeleteMany(w.Context(), w.ws, bson.D{}))
	require.Zero(t, w.simulate(nil, disturbance{}, func(time.Duration) bool { return false }, time.Hour))
	require.Equal(t, running, w.read(run).GetState().GetType())
}
