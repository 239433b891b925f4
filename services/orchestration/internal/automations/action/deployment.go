package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

// runDeployment creates a flow run. Its idempotency key makes a repetition find the same run.
func (r *Runner) runDeployment(ctx context.Context, o *result, run *orchv1.AutomationActionRun, action *orchv1.RunDeployment) *result {
	id, ok := r.target(o, run, deployment, action.GetDeploymentId(), action.GetSource())
	if !ok {
		return o
	}
	create := &orchv1.DeploymentFlowRunCreate{
		IdempotencyKey: proto.String(fmt.Sprintf("automation %s, action %d, invocation %s", run.GetAutomation().GetId(), run.GetIndex(), run.GetId())),
		JobVariables:   action.JobVariables,
		State: &orchv1.StateCreate{
			Type: orchv1.StateType_STATE_TYPE_SCHEDULED, StateDetails: &orchv1.StateDetails{
				ScheduledTime: timestamppb.New(r.Store.Now().Add(action.GetScheduleAfter().AsDuration())),
			},
		},
	}
	if action.Parameters != nil {
		rendered, err := r.parameters(ctx, run, action.GetParameters())
		if refused, ok := errors.AsType[*parameters.HydrationError](err); ok {
			return o.fail("Unable to create flow run from deployment: Error hydrating flow run parameters: %s", refused)
		}
		if errors.Is(err, errUnreadVariable) {
			return o.later(err)
		}
		if err != nil {
			return r.templateFailed(o, err, err.Error(), "")
		}
		create.Parameters, create.FinalParameters = rendered, true
	}
	response, _, err := r.Caller.Call(ctx, orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName,
		&orchv1.CreateFlowRunFromDeploymentRequest{Id: id, FlowRun: create})
	if err != nil {
		code := httpStatus(err)
		if code >= http.StatusInternalServerError {
			return o.later(err)
		}
		if code == http.StatusConflict {
			o.details["status_code"], o.details["validation_error"] = code, refusal(err)
			return o.fail("Validation error occurred for 'run-deployment' - %s", refusal(err))
		}
		if code == http.StatusNotFound {
			o.details["status_code"] = code
			return o.fail("Unexpected status from 'run-deployment' action: %d", code)
		}
		return o.fail("Unable to create flow run from deployment: %s", refusal(err))
	}
	created, ok := response.(*orchv1.FlowRun)
	if !ok {
		return o.fail("The server created no flow run.")
	}
	r.relate(o, "flow-run", created.GetId(), "flow-run", created.GetName())
	o.details["status_code"] = http.StatusCreated
	return o
}
