package flowruns

import (
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// present fills in what a run shows and does not store.
func present(run *orchv1.FlowRun, now time.Time) *orchv1.FlowRun {
	state := run.GetState()
	run.EstimatedRunTime = run.GetTotalRunTime()
	if state != nil {
		run.StateId = &state.Id
		run.StateType = state.Type.Enum()
		run.StateName = state.Name
		if state.GetType() == orchv1.StateType_STATE_TYPE_RUNNING {
			run.EstimatedRunTime += max(0, now.Sub(state.GetTimestamp().AsTime()).Seconds())
		}
	}
	run.EstimatedStartTimeDelta = lateness(run, now)
	return run
}

// lateness is by how many seconds a run started late, or is late; 0 when it is on time or will not start.
func lateness(run *orchv1.FlowRun, now time.Time) float64 {
	if run.ExpectedStartTime == nil {
		return 0
	}
	expected := run.GetExpectedStartTime().AsTime()
	switch {
	case run.StartTime != nil && run.GetStartTime().AsTime().After(expected):
		return run.GetStartTime().AsTime().Sub(expected).Seconds()
	case run.StartTime == nil && now.After(expected) && !rules.Terminal(run.GetState().GetType()):
		return now.Sub(expected).Seconds()
	}
	return 0
}
