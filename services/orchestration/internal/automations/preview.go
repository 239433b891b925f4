package automations

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxPreviewBytes bounds the rendered texts of a preview. One template renders at most half of that.
const maxPreviewBytes = 16 << 20

// Render renders the templates of an action run without effects. The fields of the renderings are fields of the action.
type Render func(ctx context.Context, ws uuid.UUID, run *orchv1.AutomationActionRun) ([]*orchv1.AutomationRendering, error)

// PreviewAutomation renders the templates of an automation's actions, stored or not, for an event. It has no effects.
func (s *Service) PreviewAutomation(ctx context.Context, r *orchv1.PreviewAutomationRequest) (*orchv1.AutomationPreview, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	compiled, err := s.compiled(ctx, info.Workspace, r.GetQuery())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.evaluationTime)
	defer cancel()
	run, err := s.previewed(ctx, info.Workspace, compiled, r.GetQuery())
	if err != nil {
		return nil, err
	}
	preview := &orchv1.AutomationPreview{}
	if e := run.GetFiring().GetEvent(); e != nil {
		preview.EventId = &e.Id
	}
	total := previewTotal{}
	for _, list := range actionLists(compiled.Message) {
		run.OnState = list.onState
		run.Firing.State = list.state
		for i, action := range list.actions {
			run.Action = action
			found, err := s.render(ctx, info.Workspace, run)
			if err != nil {
				return nil, err
			}
			for _, one := range found {
				one.Field = fmt.Sprintf("%s.%d.%s", list.field, i, one.GetField())
				total.add(one)
			}
			preview.Renderings = append(preview.Renderings, found...)
			run.Index++
		}
	}
	return preview, nil
}

// previewTotal is the length of the values of a preview in bytes.
type previewTotal struct{ bytes int }

// add counts a value. It replaces the value by an error if the preview has more than maxPreviewBytes with it.
func (t *previewTotal) add(one *orchv1.AutomationRendering) {
	if t.bytes+len(one.GetValue()) > maxPreviewBytes {
		reason := "The preview has more than 16 MiB."
		one.Value, one.Error = nil, &reason
		return
	}
	t.bytes += len(one.GetValue())
}

// actionList is a list of actions of an automation.
type actionList struct {
	field   string
	actions []*orchv1.Action
	// state is the state of the firings that cause the actions. onState actions infer from the event of the firing.
	state   orchv1.TriggerState
	onState bool
}

func actionLists(a *orchv1.Automation) []actionList {
	const triggered, resolved = orchv1.TriggerState_TRIGGER_STATE_TRIGGERED, orchv1.TriggerState_TRIGGER_STATE_RESOLVED
	return []actionList{
		{field: "actions", actions: a.GetActions(), state: triggered},
		{field: "actions_on_trigger", actions: a.GetActionsOnTrigger(), state: triggered, onState: true},
		{field: "actions_on_resolve", actions: a.GetActionsOnResolve(), state: resolved, onState: true},
	}
}

// previewed returns an action run, without its action, of the firing for which texts are rendered.
func (s *Service) previewed(
	ctx context.Context, ws uuid.UUID, a *trigger.Automation, query *orchv1.AutomationPreviewQuery,
) (*orchv1.AutomationActionRun, error) {
	db := s.automations.Store()
	run := &orchv1.AutomationActionRun{Id: db.NewID().String(), Automation: a.Message, TriggeredEventId: db.NewID().String(), Collected: true}
	switch {
	case query.EventId != nil && query.GetEvent() != nil:
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, event_id and event exclude each other", "event"))
	case query.EventId != nil:
		e, err := s.storedEvent(ctx, ws, query.GetEventId())
		if err != nil {
			return nil, err
		}
		run.Firing = a.Root.FiringFor(e, db.Now())
	case query.GetEvent() != nil:
		e := query.GetEvent()
		run.Firing = a.Root.FiringFor(&orchv1.ReceivedEvent{
			Id: e.GetId(), Event: e.GetEvent(), Occurred: e.GetOccurred(), Received: e.GetOccurred(), Resource: e.GetResource(), Related: e.GetRelated(),
			Payload: e.GetPayload(), Follows: e.Follows,
		}, db.Now())
	case query.AutomationId == nil:
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, either event_id or event is required", "event_id"))
	default:
		fired, err := s.firings(ctx, ws, a.ID, 1)
		if err != nil {
			return nil, err
		}
		if len(fired) == 0 {
			return nil, rpc.ExceptionMessage(http.StatusNotFound, "The automation has no stored firing")
		}
		last := s.historyFiring(fired[0])
		var reason *orchv1.ReceivedEvent
		if last.TriggeringEventId != nil {
			if reason, err = s.storedEvent(ctx, ws, last.GetTriggeringEventId()); err != nil {
				return nil, err
			}
		}
		run.TriggeredEventId = last.GetEventId()
		run.Firing = a.Root.FiringFor(reason, last.GetTriggered().AsTime())
		run.Firing.Labels = last.GetLabels()
	}
	return run, nil
}

// storedEvent reads an event. The error of an event that is not stored is a 404.
func (s *Service) storedEvent(ctx context.Context, ws uuid.UUID, id string) (*orchv1.ReceivedEvent, error) {
	parsed, err := resourceid.Parse(id)
	if err != nil {
		return nil, err
	}
	e, err := s.events.Get(ctx, ws, parsed)
	if errors.Is(err, store.ErrNotFound) {
		return nil, rpc.ExceptionMessage(http.StatusNotFound, "Event not found")
	}
	return e, err
}
