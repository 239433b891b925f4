package action

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func microTime(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// act does what an action says, once.
func (r *Runner) act(ctx context.Context, ws uuid.UUID, run *orchv1.AutomationActionRun) *result {
	o := newResult()
	ctx, err := r.outgoing(ctx, ws, run.GetAutomation())
	if err != nil {
		return o.later(err)
	}
	switch kind := run.GetAction().GetKind().(type) {
	case *orchv1.Action_DoNothing:
		return o
	case *orchv1.Action_RunDeployment:
		return r.runDeployment(ctx, o, ws, run, kind.RunDeployment)
	case *orchv1.Action_PauseDeployment:
		return r.toggle(ctx, o, run, deployment, kind.PauseDeployment.GetDeploymentId(), kind.PauseDeployment.GetSource(), true)
	case *orchv1.Action_ResumeDeployment:
		return r.toggle(ctx, o, run, deployment, kind.ResumeDeployment.GetDeploymentId(), kind.ResumeDeployment.GetSource(), false)
	case *orchv1.Action_PauseAutomation:
		return r.toggle(ctx, o, run, automation, kind.PauseAutomation.GetAutomationId(), kind.PauseAutomation.GetSource(), true)
	case *orchv1.Action_ResumeAutomation:
		return r.toggle(ctx, o, run, automation, kind.ResumeAutomation.GetAutomationId(), kind.ResumeAutomation.GetSource(), false)
	case *orchv1.Action_PauseWorkPool:
		return r.toggle(ctx, o, run, workPool, kind.PauseWorkPool.GetWorkPoolId(), kind.PauseWorkPool.GetSource(), true)
	case *orchv1.Action_ResumeWorkPool:
		return r.toggle(ctx, o, run, workPool, kind.ResumeWorkPool.GetWorkPoolId(), kind.ResumeWorkPool.GetSource(), false)
	case *orchv1.Action_PauseWorkQueue:
		return r.toggle(ctx, o, run, workQueue, kind.PauseWorkQueue.GetWorkQueueId(), kind.PauseWorkQueue.GetSource(), true)
	case *orchv1.Action_ResumeWorkQueue:
		return r.toggle(ctx, o, run, workQueue, kind.ResumeWorkQueue.GetWorkQueueId(), kind.ResumeWorkQueue.GetSource(), false)
	case *orchv1.Action_PauseSchedule:
		return r.setSchedule(ctx, o, run, kind.PauseSchedule.GetDeploymentId(), kind.PauseSchedule.GetScheduleId(), false)
	case *orchv1.Action_ResumeSchedule:
		return r.setSchedule(ctx, o, run, kind.ResumeSchedule.GetDeploymentId(), kind.ResumeSchedule.GetScheduleId(), true)
	case *orchv1.Action_CancelFlowRun, *orchv1.Action_SuspendFlowRun, *orchv1.Action_ChangeFlowRunState,
		*orchv1.Action_ResumeFlowRun, *orchv1.Action_DeleteFlowRun:
		return r.flowRun(ctx, o, run)
	case *orchv1.Action_SendNotification:
		return r.notify(ctx, o, ws, run, kind.SendNotification)
	case *orchv1.Action_SendEmailNotification:
		return r.email(ctx, o, ws, run, kind.SendEmailNotification)
	case *orchv1.Action_CallWebhook:
		return r.callWebhook(ctx, o, ws, run, kind.CallWebhook)
	}
	return o.fail("The server does not know the action.")
}

// kindOf is a kind of resource that actions infer: how events spell it, and how people do.
type kindOf struct{ kind, text string }

var (
	deployment = kindOf{"deployment", "deployment"}
	automation = kindOf{"automation", "automation"}
	workPool   = kindOf{"work-pool", "work pool"}
	workQueue  = kindOf{"work-queue", "work queue"}
	flowRun    = kindOf{"flow-run", "flow run"}
)

var errNotInferred = errors.New("nothing could be inferred")

// target returns the id of what an action concerns, or says in the result why there is none.
func (r *Runner) target(o *result, run *orchv1.AutomationActionRun, k kindOf, selected string, source orchv1.ActionSource) (string, bool) {
	id := selected
	if source != orchv1.ActionSource_ACTION_SOURCE_SELECTED {
		e := r.reason(run)
		if e == nil {
			o.fail("No event to infer the %s", k.text)
			return "", false
		}
		inferred, err := r.infer(e, k)
		if err != nil {
			o.fail("No %s could be inferred", k.text)
			return "", false
		}
		id = inferred
	}
	r.relate(o, k.kind, id, "target", "")
	return id, true
}

// reason is the event that an action infers from: that of the firing, or for the actions of a state, the firing itself.
func (r *Runner) reason(run *orchv1.AutomationActionRun) *orchv1.ReceivedEvent {
	if !run.GetOnState() {
		return run.GetFiring().GetEvent()
	}
	v := r.Vocabulary
	return &orchv1.ReceivedEvent{
		Id: run.GetTriggeredEventId(), Event: v.Name("automation", "triggered"), Occurred: timestamppb.New(microTime(run.GetFiring().GetTriggered())),
		Resource: &orchv1.Resource{Labels: map[string]string{v.ResourceID(): v.Name("automation", run.GetAutomation().GetId())}},
	}
}

// infer returns the id of the first resource of a kind that an event names.
func (r *Runner) infer(e *orchv1.ReceivedEvent, k kindOf) (string, error) {
	prefix, label := r.Vocabulary.Name(k.kind, ""), r.Vocabulary.ResourceID()
	all := []string{e.GetResource().GetLabels()[label]}
	for _, related := range e.GetRelated() {
		all = append(all, related.GetLabels()[label])
	}
	for _, id := range all {
		if rest, ok := strings.CutPrefix(id, prefix); ok && !strings.Contains(rest, ".") {
			parsed, err := uuid.Parse(rest)
			if err != nil {
				return "", errNotInferred
			}
			return parsed.String(), nil
		}
	}
	return "", errNotInferred
}
