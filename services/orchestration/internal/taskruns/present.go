package taskruns

import (
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
)

// present adds a run's computed fields, which are not stored.
func present(run *orchv1.TaskRun, now time.Time) *orchv1.TaskRun {
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

// summary is a run as a numbered page shows it.
func summary(run *orchv1.TaskRun) *orchv1.TaskRunSummary {
	return &orchv1.TaskRunSummary{
		Id:                      run.GetId(),
		Created:                 run.Created,
		Updated:                 run.Updated,
		Name:                    run.GetName(),
		FlowRunId:               run.FlowRunId,
		TaskKey:                 run.GetTaskKey(),
		TaskVersion:             run.TaskVersion,
		EmpiricalPolicy:         run.EmpiricalPolicy,
		Tags:                    run.GetTags(),
		StateId:                 run.StateId,
		TaskInputs:              run.GetTaskInputs(),
		StartTime:               run.StartTime,
		EndTime:                 run.EndTime,
		TotalRunTime:            run.GetTotalRunTime(),
		EstimatedRunTime:        run.GetEstimatedRunTime(),
		EstimatedStartTimeDelta: run.GetEstimatedStartTimeDelta(),
		State:                   run.State,
	}
}
