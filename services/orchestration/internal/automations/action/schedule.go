package action

import (
	"context"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
)

// setSchedule activates or deactivates one schedule of a deployment. The runs that it has scheduled change with it.
func (r *Runner) setSchedule(ctx context.Context, o *result, run *orchv1.AutomationActionRun, id, schedule string, active bool) *result {
	r.relate(o, deployment.kind, id, "target", "")
	r.relate(o, "deployment-schedule", schedule, "schedule", "")
	r.call(ctx, o, orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName, &orchv1.UpdateDeploymentScheduleRequest{
		Id: id, ScheduleId: schedule, Schedule: &orchv1.DeploymentScheduleUpdate{Active: &active}, UpdateMask: mask("active"),
	}, engine.ActionType(run.GetAction()))
	return o
}
