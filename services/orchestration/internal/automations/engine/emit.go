package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Emit implements trigger.Backend: it stores the action runs of firings and publishes what happened. All ids are made of
// the firings', so a repetition finds what is there. A firing that can never be emitted becomes a dead letter: otherwise its bucket
// would retain it, and nothing of that trigger would be evaluated any more.
func (e *Engine) Emit(ctx context.Context, firings []trigger.RootFiring) error {
	var failures []error
	err := isolate(firings, func(part []trigger.RootFiring) error { return e.emitAll(ctx, part) }, func(f trigger.RootFiring, cause error) {
		failures = append(failures, e.deadLetterFiring(ctx, f, cause))
	})
	return errors.Join(append(failures, err)...)
}

func (e *Engine) emitAll(ctx context.Context, firings []trigger.RootFiring) error {
	var published []broker.Event
	byWorkspace := map[uuid.UUID][]*orchv1.AutomationActionRun{}
	for _, f := range firings {
		ws := f.Automation.Workspace
		sent, err := Triggered(e.Vocabulary, f.Automation.Message, f.Firing, e.now(), ws)
		if err != nil {
			return err
		}
		published = append(published, sent)
		byWorkspace[ws] = append(byWorkspace[ws], actionRuns(f, sent.ID.String(), e.now())...)
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

// deadLetterFiring writes a dead letter for the event that an automation fired.
func (e *Engine) deadLetterFiring(ctx context.Context, f trigger.RootFiring, cause error) error {
	event, err := triggered(e.Vocabulary, f.Automation.Message, f.Firing, e.now(), f.Automation.Workspace, len(omissions))
	if err != nil {
		e.Log.ErrorContext(ctx, "failed to write the dead letter of a firing", "automation", f.Automation.ID, "firing", f.Firing.GetId(), "error", err)
		return nil // It has no valid id, so nothing can refer to it.
	}
	return e.Broker.DeadLetterEvent(ctx, broker.DurableAutomations, &event, 0, fmt.Errorf("fire automation %s: %w", f.Automation.ID, cause))
}

// emit stores the action runs and publishes the events.
func (e *Engine) emit(ctx context.Context, events []broker.Event, runs map[uuid.UUID][]*orchv1.AutomationActionRun) error {
	for ws, due := range runs { // Of one workspace, that of the session.
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
		if _, err := store.InsertAll(ctx, e.actions, ws, batch); err != nil {
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

// omissions are the parts of the triggering event that the event of a firing leaves out when it would be too large, in this order.
var omissions = []string{"payload", "related", "labels", "event"}

// Triggered is the event that says that an automation fired. It leaves out as much of the triggering event as it must to fit.
func Triggered(v vocabulary.Vocabulary, a *orchv1.Automation, f *orchv1.AutomationFiring, now time.Time, ws uuid.UUID) (broker.Event, error) {
	for n := 0; ; n++ {
		event, err := triggered(v, a, f, now, ws, n)
		if err != nil || event.Fits() || n == len(omissions) {
			return event, err
		}
	}
}

// triggered is Triggered without the first n omissions.
func triggered(v vocabulary.Vocabulary, a *orchv1.Automation, f *orchv1.AutomationFiring, now time.Time, ws uuid.UUID, n int) (broker.Event, error) {
	id, err := uuid.Parse(f.GetId())
	if err != nil {
		return broker.Event{}, fmt.Errorf("read a firing's id: %w", err)
	}
	omitted := omissions[:n]
	labels := f.GetLabels()
	if labels == nil || slices.Contains(omitted, "labels") {
		labels = map[string]string{}
	}
	payload := map[string]any{"triggering_labels": labels, "triggering_event": nil}
	if n > 0 {
		payload["omitted"] = omitted
	}
	verb := "triggered"
	if f.GetState() == orchv1.TriggerState_TRIGGER_STATE_RESOLVED {
		verb = "resolved"
	}
	event := &orchv1.ReceivedEvent{
		Id:       uuid.NewSHA1(id, []byte("event")).String(),
		Occurred: timestamppb.New(time.UnixMicro(f.GetTriggered())),
		Received: timestamppb.New(now),
		Event:    v.Name("automation", verb),
		Resource: MarkChain(v, AutomationResource(v, a, false), f),
	}
	if reason := f.GetEvent(); reason != nil {
		if !slices.Contains(omitted, "event") {
			text, err := restjson.Marshal(without(v, reason, omitted))
			if err != nil {
				return broker.Event{}, fmt.Errorf("write the triggering event: %w", err)
			}
			payload["triggering_event"] = json.RawMessage(text)
		}
		event.Related = append(event.Related, RelatedEvent(v, reason.GetId(), "triggering-event"))
		event.Traceparent, event.Tracestate = reason.Traceparent, reason.Tracestate
	}
	if event.Payload, err = plainJSON(payload); err != nil {
		return broker.Event{}, fmt.Errorf("write the payload of a firing: %w", err)
	}
	return wire.ToBroker(v, event, ws)
}

// without is a triggering event without the omitted parts. Of its labels the resource's id remains.
func without(v vocabulary.Vocabulary, reason *orchv1.ReceivedEvent, omitted []string) *orchv1.Event {
	plain := Plain(reason)
	for _, part := range omitted {
		switch part {
		case "payload":
			plain.Payload = []byte(`{"omitted":"the payload is too large"}`)
		case "related":
			plain.Related = nil
		case "labels":
			plain.Resource = &orchv1.Resource{Labels: map[string]string{v.ResourceID(): reason.GetResource().GetLabels()[v.ResourceID()]}}
		}
	}
	return plain
}

// plainJSON is json.Marshal without escapes for HTML, which make markup six times as large.
func plainJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(text.Bytes()), err
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
func actionRuns(f trigger.RootFiring, triggered string, now time.Time) []*orchv1.AutomationActionRun {
	a, due := f.Automation.Message, now.UnixMicro()
	var runs []*orchv1.AutomationActionRun
	firing := uuid.MustParse(f.Firing.GetId())
	add := func(actions []*orchv1.Action, onState bool) {
		for _, action := range actions {
			index := len(runs)
			run := &orchv1.AutomationActionRun{
				Id: ActionRunID(firing, index).String(), Automation: a, Firing: f.Firing, TriggeredEventId: triggered, OnState: onState,
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
