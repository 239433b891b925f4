package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// Emit implements trigger.Backend: it stores the action runs of firings and publishes what happened. All ids are made of
// the firings', so a repetition finds what is there.
func (e *Engine) Emit(ctx context.Context, firings []trigger.Emission) error {
	var published []broker.Event
	byWorkspace := map[uuid.UUID][]*orchv1.AutomationActionRun{}
	for _, f := range firings {
		ws := f.Automation.Workspace
		event, err := Triggered(e.Vocabulary, f.Automation.Message, f.Firing, e.now())
		if err != nil {
			return err
		}
		if reason := f.Firing.GetEvent(); reason != nil {
			event.Traceparent, event.Tracestate = reason.Traceparent, reason.Tracestate
		}
		sent, err := wire.ToBroker(e.Vocabulary, event, ws)
		if err != nil {
			return fmt.Errorf("publish that an automation fired: %w", err)
		}
		published = append(published, sent)
		byWorkspace[ws] = append(byWorkspace[ws], actionRuns(f, event.GetId(), e.now())...)
	}
	ctx, spans := broker.ContinueTraces(ctx, e.Tracer, "fire automation", published)
	err := e.emit(ctx, published, byWorkspace)
	spans.End(err)
	if err != nil {
		return err
	}
	e.Wake()
	e.Metrics.emitted(firings, e.now())
	return nil
}

// emit stores the action runs and publishes the events.
func (e *Engine) emit(ctx context.Context, events []broker.Event, runs map[uuid.UUID][]*orchv1.AutomationActionRun) error {
	for ws, due := range runs {
		if err := e.storeActionRuns(ctx, ws, due); err != nil {
			return err
		}
	}
	if err := e.Broker.Publisher().PublishAll(ctx, events); err != nil {
		return fmt.Errorf("publish that automations fired: %w", err)
	}
	return nil
}

// storeActionRuns stores action runs, and those that are due last. A run that ends makes the next run of its firing due, so
// that one must exist before the first run can be claimed.
func (e *Engine) storeActionRuns(ctx context.Context, ws uuid.UUID, runs []*orchv1.AutomationActionRun) error {
	var waiting, due []*orchv1.AutomationActionRun
	for _, run := range runs {
		if run.Next == nil {
			waiting = append(waiting, run)
		} else {
			due = append(due, run)
		}
	}
	for _, batch := range [][]*orchv1.AutomationActionRun{waiting, due} {
		if _, err := e.actions.InsertAll(ctx, ws, batch); err != nil {
			return err
		}
	}
	return nil
}

// due is when a firing should have happened: when its event was received, or its window ended.
func due(f *orchv1.AutomationFiring) int64 {
	if received := f.GetEvent().GetReceived(); received != nil && f.GetTriggered()-received.AsTime().UnixMicro() < int64(time.Minute/time.Microsecond) {
		return received.AsTime().UnixMicro()
	}
	return f.GetTriggered()
}

// Triggered is the event that says that an automation fired.
func Triggered(v vocabulary.Vocabulary, a *orchv1.Automation, f *orchv1.AutomationFiring, now time.Time) (*orchv1.ReceivedEvent, error) {
	of, err := uuid.Parse(f.GetId())
	if err != nil {
		return nil, fmt.Errorf("read a firing's id: %w", err)
	}
	labels := f.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	payload := map[string]any{"triggering_labels": labels, "triggering_event": nil}
	verb := "triggered"
	if f.GetState() == orchv1.TriggerState_TRIGGER_STATE_RESOLVED {
		verb = "resolved"
	}
	event := &orchv1.ReceivedEvent{
		Id:       uuid.NewSHA1(of, []byte("event")).String(),
		Occurred: timestamppb.New(time.UnixMicro(f.GetTriggered())),
		Received: timestamppb.New(now),
		Event:    v.Name("automation", verb),
		Resource: MarkChain(v, AutomationResource(v, a, false), f),
	}
	if reason := f.GetEvent(); reason != nil {
		text, err := embedded(reason)
		if err != nil {
			return nil, fmt.Errorf("write the triggering event: %w", err)
		}
		payload["triggering_event"] = json.RawMessage(text)
		event.Related = append(event.Related, RelatedEvent(v, reason.GetId(), "triggering-event"))
	}
	if event.Payload, err = json.Marshal(payload); err != nil {
		return nil, fmt.Errorf("write the payload of a firing: %w", err)
	}
	return event, nil
}

// maxEmbedded bounds the triggering event inside a firing's event, in bytes. The rest of the limit of an event is for what
// the firing's event adds.
const maxEmbedded = 1 << 20

// embedded is a triggering event as the payload of a firing's event holds it. A payload that would make the firing's event
// too large is left out.
func embedded(reason *orchv1.ReceivedEvent) ([]byte, error) {
	plain := Plain(reason)
	text, err := restjson.Marshal(plain)
	if err != nil || len(text) <= maxEmbedded {
		return text, err
	}
	plain.Payload = []byte(`{"omitted":"the payload is too large"}`)
	if text, err = restjson.Marshal(plain); err != nil || len(text) <= maxEmbedded {
		return text, err
	}
	plain.Related = nil
	return restjson.Marshal(plain)
}

// Plain is an event as its sender sent it.
func Plain(e *orchv1.ReceivedEvent) *orchv1.Event {
	return &orchv1.Event{
		Id: e.GetId(), Event: e.GetEvent(), Occurred: e.GetOccurred(), Resource: e.GetResource(), Related: e.GetRelated(),
		Payload: e.GetPayload(), Follows: e.Follows,
	}
}

// AutomationResource is an automation as the resource of its events.
func AutomationResource(v vocabulary.Vocabulary, a *orchv1.Automation, typed bool) *orchv1.Resource {
	labels := map[string]string{v.ResourceID(): v.Name("automation", a.GetId()), v.ResourceName(): a.GetName()}
	kind := "event"
	switch t := a.GetTrigger().GetKind().(type) {
	case *orchv1.Trigger_Event:
		labels[v.Name("posture")], _ = restjson.EnumWord(t.Event.GetPosture().Descriptor(), t.Event.GetPosture().Number())
	case *orchv1.Trigger_Compound:
		kind = "compound"
	case *orchv1.Trigger_Sequence:
		kind = "sequence"
	case *orchv1.Trigger_Metric:
		kind = "metric"
	}
	if typed {
		labels[v.Name("trigger-type")] = kind
	}
	return &orchv1.Resource{Labels: labels}
}

// RelatedEvent is an event as a related resource.
func RelatedEvent(v vocabulary.Vocabulary, id, role string) *orchv1.RelatedResource {
	return &orchv1.RelatedResource{Labels: map[string]string{v.ResourceID(): v.Name("event", id), v.ResourceRole(): role}}
}

// ActionRunID is the id of the action run at a place among the actions of a firing.
func ActionRunID(firing uuid.UUID, index int) uuid.UUID {
	return uuid.NewSHA1(firing, fmt.Appendf(nil, "action %d", index))
}

// actionRuns are the actions that a firing causes: those for its reason, then those for the firing itself. The first one is
// due; each makes the next one due.
func actionRuns(f trigger.Emission, triggered string, now time.Time) []*orchv1.AutomationActionRun {
	a, due := f.Automation.Message, now.UnixMicro()
	var runs []*orchv1.AutomationActionRun
	of := uuid.MustParse(f.Firing.GetId())
	add := func(actions []*orchv1.Action, onState bool) {
		for _, action := range actions {
			index := len(runs)
			run := &orchv1.AutomationActionRun{
				Id: ActionRunID(of, index).String(), Automation: a, Firing: f.Firing, TriggeredEventId: triggered, OnState: onState,
				Index: int32(index), Action: action,
			}
			if index == 0 {
				run.Next = &due
			}
			runs = append(runs, run)
		}
	}
	if f.Firing.GetState() == orchv1.TriggerState_TRIGGER_STATE_RESOLVED {
		add(a.GetActionsOnResolve(), true)
		return runs
	}
	add(a.GetActions(), false)
	add(a.GetActionsOnTrigger(), true)
	return runs
}

// ActionType returns the type of an action as the API names it, such as "run-deployment"; empty without a kind.
func ActionType(a *orchv1.Action) string {
	m := a.ProtoReflect()
	set := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind"))
	if set == nil {
		return ""
	}
	return restjson.Shape(set.Message()).GetTag()
}
