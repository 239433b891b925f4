package flowruns

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
)

// dueRun is a run that is due at a time after now, with a setting of late runs.
func (w *world) dueRun(in time.Duration, lateness string) *orchv1.FlowRun {
	w.Helper()
	return w.run(func(create *orchv1.FlowRunCreate) {
		create.State = &orchv1.StateCreate{Type: scheduled, StateDetails: rules.NewDetails(timestamppb.New(w.clock.Now().Add(in)))}
		if lateness != "" {
			create.JobVariables = []byte(fmt.Sprintf(`{"orch.lateness": %q}`, lateness))
		}
	})
}

// claim proposes PENDING, as a worker does.
func (w *world) claim(run *orchv1.FlowRun) *orchv1.OrchestrationResult {
	w.Helper()
	return ask[*orchv1.OrchestrationResult](w, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: pending}},
	})
}

func (w *world) markLate() int {
	w.Helper()
	changed, err := w.service.MarkLate(w.Context())
	require.NoError(w, err)
	return changed
}

func TestLateRunsAreKeptSkippedOrCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	byDefault, kept, skipped, tenMinutes, claimed := w.dueRun(0, ""), w.dueRun(0, "keep"), w.dueRun(0, "skip"), w.dueRun(0, "600"), w.dueRun(0, "skip")
	w.claim(claimed)
	w.clock.Advance(runorder.LateAfter + time.Second)
	require.Equal(t, 4, w.markLate())
	require.Equal(t, nameLate, w.state(byDefault).GetName())
	require.Equal(t, nameLate, w.state(kept).GetName())
	require.Equal(t, nameLate, w.state(tenMinutes).GetName())
	require.Equal(t, "Pending", w.state(claimed).GetName())
	state := w.state(skipped)
	require.Equal(t, cancelled, state.GetType())
	require.Equal(t, rules.NameSkipped, state.GetName())
	require.Equal(t, "The run was due at 2026-11-21T12:00:00Z and had not started 15 seconds later.", state.GetMessage())

	w.clock.Advance(10 * time.Minute)
	require.Equal(t, 1, w.markLate())
	require.Equal(t, "The run was due at 2026-11-21T12:00:00Z and had not started 600 seconds later.", w.state(tenMinutes).GetMessage())
	require.Equal(t, nameLate, w.state(kept).GetName())
	require.Zero(t, w.markLate())
	require.Equal(t, "Pending", w.claim(kept).GetState().GetName())
}

// A worker that claims a run after its deadline does not start it, also if the server has not looked for late runs since.
func TestAClaimAfterTheDeadlineSkipsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.dueRun(0, "60")
	w.clock.Advance(time.Minute)
	result := w.claim(run)
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, result.GetStatus())
	require.Equal(t, rules.NameSkipped, result.GetState().GetName())
	require.Equal(t, cancelled, w.state(run).GetType())
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, w.claim(run).GetStatus(), "it is skipped for good")
	require.Zero(t, w.markLate())
}

// A change of labels or a new scheduled time moves the deadline; a claim in time ends it.
func TestTheDeadlineFollowsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deadline := func(run *orchv1.FlowRun) *timestamppb.Timestamp {
		return ask[*orchv1.FlowRun](w, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: run.GetId()}).GetStartDeadline()
	}
	run := w.dueRun(time.Hour, "600")
	require.Equal(t, w.clock.Now().Add(time.Hour+10*time.Minute), deadline(run).AsTime())
	_, err := w.service.UpdateFlowRunLabels(requesttest.Incoming(w, w.ws), &orchv1.UpdateFlowRunLabelsRequest{Id: run.GetId(), Labels: []byte(`{"orch.priority": 30}`)})
	require.NoError(t, err)
	require.Equal(t, w.clock.Now().Add(time.Hour+10*time.Minute), deadline(run).AsTime(), "a priority does not move it")
	w.set(run, &orchv1.StateCreate{Type: scheduled, StateDetails: rules.NewDetails(timestamppb.New(w.clock.Now().Add(2 * time.Hour)))})
	require.Equal(t, w.clock.Now().Add(2*time.Hour+10*time.Minute), deadline(run).AsTime())
	w.claim(run)
	require.Nil(t, deadline(run))
	w.set(run, &orchv1.StateCreate{Type: running})
	w.set(run, &orchv1.StateCreate{Type: scheduled, Name: new("AwaitingRetry")})
	require.Nil(t, deadline(run), "only the first start has a deadline")
}

// Workers claim runs while the server skips them: each run is claimed or skipped.
func TestNoRunIsClaimedAndSkipped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = 200
	runs := make([]*orchv1.FlowRun, many)
	for i := range runs {
		runs[i] = w.dueRun(0, "skip")
	}
	w.clock.Advance(runorder.LateAfter - time.Microsecond)
	results := make([]*orchv1.OrchestrationResult, many)
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for i, run := range runs {
			if i == many/4 {
				w.clock.Advance(time.Second)
			}
			results[i] = w.claim(run)
		}
	})
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				w.markLate()
			}
		}
	})
	group.Wait()
	for i, run := range runs {
		claimed := results[i].GetStatus() == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT
		require.Equal(t, i < many/4, claimed, i)
		if state := w.state(run); claimed {
			require.Equal(t, pending, state.GetType())
		} else {
			require.Equal(t, rules.NameSkipped, state.GetName())
		}
	}
}
