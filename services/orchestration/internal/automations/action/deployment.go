package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

// runDeployment creates a flow run, or adds the firing to those that cause one later.
func (r *Runner) runDeployment(
	ctx context.Context, o *result, ws uuid.UUID, run *orchv1.AutomationActionRun, action *orchv1.RunDeployment,
) *result {
	id, ok := r.target(o, run, deployment, action.GetDeploymentId(), action.GetSource())
	if !ok {
		return o
	}
	if !run.GetCollected() && (action.GetDebounce() != nil || action.GetBatch() != nil) {
		return r.collect(ctx, o, ws, run, action)
	}
	if action.GetSingleton() == nil {
		r.createRun(ctx, o, run, action, id)
		return o
	}
	key := r.enter(ctx, o, ws, run, action.GetSingleton())
	if key == nil {
		return o
	}
	if created := r.createRun(ctx, o, run, action, id); created != nil {
		if err := r.occupy(ctx, ws, key, run, created.GetId()); err != nil {
			return o.later(err)
		}
	}
	return o
}

// createRun creates a flow run of a deployment, or returns nil and says in the result why it cannot. The idempotency key makes a
// repetition find the same run.
func (r *Runner) createRun(
	ctx context.Context, o *result, run *orchv1.AutomationActionRun, action *orchv1.RunDeployment, id string,
) *orchv1.FlowRun {
	rendered, ok := r.runParameters(ctx, o, run, action)
	if !ok {
		return nil
	}
	create := &orchv1.DeploymentFlowRunCreate{
		IdempotencyKey: proto.String(fmt.Sprintf("automation %s, action %d, invocation %s", run.GetAutomation().GetId(), run.GetIndex(), run.GetId())),
		JobVariables:   action.JobVariables,
		State: &orchv1.StateCreate{
			Type: orchv1.StateType_STATE_TYPE_SCHEDULED, StateDetails: &orchv1.StateDetails{
				ScheduledTime: timestamppb.New(r.Store.Now().Add(action.GetScheduleAfter().AsDuration())),
			},
		},
		Parameters: rendered, FinalParameters: rendered != nil,
	}
	response, _, err := r.Caller.Call(ctx, orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName,
		&orchv1.CreateFlowRunFromDeploymentRequest{Id: id, FlowRun: create})
	if err != nil {
		creationFailed(o, err)
		return nil
	}
	created, ok := response.(*orchv1.FlowRun)
	if !ok {
		o.fail("The server created no flow run.")
		return nil
	}
	r.relate(o, "flow-run", created.GetId(), "flow-run", created.GetName())
	o.details["status_code"] = http.StatusCreated
	return created
}

// creationFailed notes why a flow run was not created.
func creationFailed(o *result, err error) *result {
	code := httpStatus(err)
	switch {
	case code >= http.StatusInternalServerError:
		return o.later(err)
	case code == http.StatusConflict:
		o.details["status_code"], o.details["validation_error"] = code, refusal(err)
		return o.fail("Validation error occurred for 'run-deployment' - %s", refusal(err))
	case code == http.StatusNotFound:
		o.details["status_code"] = code
		return o.fail("Unexpected status from 'run-deployment' action: %d", code)
	}
	return o.fail("Unable to create flow run from deployment: %s", refusal(err))
}

// finalParameters renders the parameters of an action, to which a batch adds its events. They are nil without parameters.
func (r *Runner) finalParameters(ctx context.Context, run *orchv1.AutomationActionRun, action *orchv1.RunDeployment) (rendered []byte, err error) {
	if action.Parameters != nil {
		rendered, err = r.parameters(ctx, run, action.GetParameters())
	}
	if name := action.GetBatch().GetParameter(); err == nil && run.GetCollected() && name != "" {
		rendered, err = withEvents(rendered, name, run)
	}
	return rendered, err
}

// runParameters is finalParameters for a result. It returns false, and says in the result why, if
// it cannot.
func (r *Runner) runParameters(
	ctx context.Context, o *result, run *orchv1.AutomationActionRun, action *orchv1.RunDeployment,
) (rendered []byte, ok bool) {
	rendered, err := r.finalParameters(ctx, run, action)
	refused, isRefused := errors.AsType[*parameters.HydrationError](err)
	switch {
	case err == nil:
		return rendered, true
	case isRefused:
		o.fail("Unable to create flow run from deployment: Error hydrating flow run parameters: %s", refused)
	case errors.Is(err, errUnreadVariable):
		o.later(err)
	default:
		r.templateFailed(o, err, err.Error(), "")
	}
	return nil, false
}
