package flowruns

import (
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
)

// Present fills in what a run shows and does not store.
func Present(run *orchv1.FlowRun, now time.Time) *orchv1.FlowRun {
	state := run.GetState()
	if state != nil {
		run.StateId = &state.Id
		run.StateType = state.Type.Enum()
		run.StateName = state.Name
	}
	run.EstimatedRunTime = runs.RunTime(run.GetTotalRunTime(), state, now)
	run.EstimatedStartTimeDelta = runs.Lateness(run.ExpectedStartTime, run.StartTime, state, now)
	return run
}
