package action

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// suspendFor is how long a suspended run waits before it fails.
const suspendFor = time.Hour

// flowRun changes or deletes the flow run that a firing speaks of.
func (r *Runner) flowRun(ctx context.Context, o *result, run *orchv1.AutomationActionRun) *result {
	id, ok := r.flowRunOf(o, run)
	if !ok {
		return o
	}
	automation := run.GetAutomation().GetId()
	switch kind := run.GetAction().GetKind().(type) {
	case *orchv1.Action_CancelFlowRun:
		return r.setState(ctx, o, id, false, &orchv1.StateCreate{
			Type: orchv1.StateType_STATE_TYPE_CANCELLING, Message: proto.String("Cancelled by Automation " + automation),
		})
	case *orchv1.Action_SuspendFlowRun:
		return r.setState(ctx, o, id, false, &orchv1.StateCreate{
			Type: orchv1.StateType_STATE_TYPE_PAUSED, Name: proto.String("Suspended"), Message: proto.String("Suspended by Automation " + automation),
			StateDetails: &orchv1.StateDetails{PauseReschedule: true, PauseTimeout: timestamppb.New(r.Store.Now().Add(suspendFor))},
		})
	case *orchv1.Action_ChangeFlowRunState:
		change := kind.ChangeFlowRunState
		message := "State changed by Automation " + automation
		if change.GetMessage() != "" {
			message = change.GetMessage()
		}
		return r.setState(ctx, o, id, change.GetForce(), &orchv1.StateCreate{Type: change.GetState(), Name: change.Name, Message: &message})
	case *orchv1.Action_ResumeFlowRun:
		response, ok := r.call(ctx, o, orchv1.FlowRunService_ResumeFlowRun_FullMethodName, &orchv1.ResumeFlowRunRequest{Id: id}, "resume-flow-run")
		if result, is := response.(*orchv1.OrchestrationResult); ok && is && !accepted(result) {
			delete(o.details, "status_code")
			return o.fail("Failed to resume flow run: %s", rejection(result))
		}
		return o
	default:
		r.call(ctx, o, orchv1.FlowRunService_DeleteFlowRun_FullMethodName, &orchv1.DeleteFlowRunRequest{Id: id}, "delete-flow-run")
		return o
	}
}

// flowRunOf returns the flow run that a firing's label names, else the one that its event names.
func (r *Runner) flowRunOf(o *result, run *orchv1.AutomationActionRun) (string, bool) {
	label := run.GetFiring().GetLabels()[r.Vocabulary.ResourceID()]
	labelled := &orchv1.ReceivedEvent{Resource: &orchv1.Resource{Labels: map[string]string{r.Vocabulary.ResourceID(): label}}}
	if id, err := r.infer(labelled, flowRun); err == nil {
		r.relate(o, flowRun.kind, id, "target", "")
		return id, true
	}
	return r.target(o, run, flowRun, "", orchv1.ActionSource_ACTION_SOURCE_INFERRED)
}

func (r *Runner) setState(ctx context.Context, o *result, id string, force bool, state *orchv1.StateCreate) *result {
	response, reply, err := r.Caller.Call(ctx, orchv1.FlowRunService_SetFlowRunState_FullMethodName,
		&orchv1.SetFlowRunStateRequest{Id: id, Transition: &orchv1.FlowRunTransition{State: state, Force: force}})
	if err != nil {
		if code := httpStatus(err); code < 500 {
			o.details["status_code"] = code
			return o.fail("Failed to set state: %s", refusal(err))
		}
		return o.later(fmt.Errorf("set the state of flow run %s: %w", id, err))
	}
	o.details["status_code"] = successStatus(orchv1.FlowRunService_SetFlowRunState_FullMethodName, reply)
	if result, is := response.(*orchv1.OrchestrationResult); is && !accepted(result) {
		return o.fail("Failed to set state: %s", rejection(result))
	}
	return o
}

func accepted(o *orchv1.OrchestrationResult) bool {
	return o.GetStatus() == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT
}

func rejection(o *orchv1.OrchestrationResult) string {
	d := o.GetDetails()
	for _, reason := range []string{d.GetReject().GetReason(), d.GetAbort().GetReason(), d.GetWait().GetReason()} {
		if reason != "" {
			return reason
		}
	}
	return o.GetStatus().String()
}
