package automations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// defaultHistory is the number of firings when the request has no limit.
const defaultHistory = 50

// ReadAutomationHistory returns the last firings of an automation, newest first, with the outcomes of their actions. Both
// are read from the stored events. Actions without a stored outcome are read from the action runs.
func (s *Service) ReadAutomationHistory(ctx context.Context, r *orchv1.ReadAutomationHistoryRequest) (*orchv1.AutomationHistory, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if _, err := s.automations.Get(ctx, ws, id); err != nil {
		return nil, translate(err)
	}
	limit := r.GetLimit()
	if limit == 0 {
		limit = defaultHistory
	}
	fired, err := s.firings(ctx, ws, id, limit)
	if err != nil {
		return nil, err
	}
	history := &orchv1.AutomationHistory{}
	byEvent := map[string]*orchv1.AutomationHistoryFiring{}
	for _, e := range fired {
		f := s.historyFiring(e)
		history.Firings = append(history.Firings, f)
		byEvent[e.GetId()] = f
	}
	if len(byEvent) == 0 {
		return history, nil
	}
	if err := s.addOutcomes(ctx, ws, byEvent); err != nil {
		return nil, err
	}
	if err := s.addRuns(ctx, ws, byEvent); err != nil {
		return nil, err
	}
	for _, f := range history.GetFirings() {
		slices.SortFunc(f.Actions, func(a, b *orchv1.AutomationHistoryAction) int { return int(a.GetIndex() - b.GetIndex()) })
	}
	return history, nil
}

// firings returns the events of the last firings of an automation, newest first.
func (s *Service) firings(ctx context.Context, ws, id uuid.UUID, limit int64) ([]*orchv1.ReceivedEvent, error) {
	return s.events.Find(ctx, ws, store.Query{Filter: bson.D{
		{Key: "resource_id", Value: s.vocab.Name("automation", id.String())},
		{Key: "event", Value: bson.D{{Key: "$in", Value: bson.A{s.vocab.Name("automation", "triggered"), s.vocab.Name("automation", "resolved")}}}},
	}, Sort: bson.D{{Key: "occurred", Value: -1}, {Key: "_id", Value: -1}}, Limit: limit})
}

func (s *Service) historyFiring(e *orchv1.ReceivedEvent) *orchv1.AutomationHistoryFiring {
	f := &orchv1.AutomationHistoryFiring{EventId: e.GetId(), Triggered: e.GetOccurred(), State: orchv1.TriggerState_TRIGGER_STATE_TRIGGERED}
	if e.GetEvent() == s.vocab.Name("automation", "resolved") {
		f.State = orchv1.TriggerState_TRIGGER_STATE_RESOLVED
	}
	var payload struct {
		Labels map[string]string `json:"triggering_labels"`
	}
	if json.Unmarshal(e.GetPayload(), &payload) == nil {
		f.Labels = payload.Labels
	}
	if id := s.relatedInRole(e, "event", "triggering-event"); id != "" {
		f.TriggeringEventId = &id
	}
	return f
}

// addOutcomes adds the actions whose outcomes are stored as events.
func (s *Service) addOutcomes(ctx context.Context, ws uuid.UUID, byEvent map[string]*orchv1.AutomationHistoryFiring) error {
	var ids bson.A
	for id := range byEvent {
		ids = append(ids, s.vocab.Name("event", id))
	}
	executed, failed := s.vocab.Name("automation", "action", "executed"), s.vocab.Name("automation", "action", "failed")
	return s.events.Each(ctx, ws, store.Query{Filter: bson.D{
		{Key: "resource_ids", Value: bson.D{{Key: "$in", Value: ids}}},
		{Key: "event", Value: bson.D{{Key: "$in", Value: bson.A{executed, failed}}}},
	}, Sort: bson.D{{Key: "occurred", Value: 1}, {Key: "_id", Value: 1}}}, func(e *orchv1.ReceivedEvent) bool {
		f := byEvent[s.relatedInRole(e, "event", "automation-triggered-event")]
		if f == nil {
			return true
		}
		action := s.historyAction(e)
		if e.GetEvent() == executed {
			action.Outcome, action.Reason = orchv1.ActionOutcome_ACTION_OUTCOME_EXECUTED, nil
		}
		// A retried dead letter has a second outcome, which replaces the first.
		f.Actions = slices.DeleteFunc(f.Actions, func(earlier *orchv1.AutomationHistoryAction) bool { return earlier.GetIndex() == action.GetIndex() })
		f.Actions = append(f.Actions, action)
		return true
	})
}

func (s *Service) historyAction(e *orchv1.ReceivedEvent) *orchv1.AutomationHistoryAction {
	var payload struct {
		Index  int64  `json:"action_index"`
		Type   string `json:"action_type"`
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(e.GetPayload(), &payload) // The server wrote it; what cannot be read stays empty.
	id := e.GetId()
	action := &orchv1.AutomationHistoryAction{
		Index: payload.Index, Type: payload.Type, Outcome: orchv1.ActionOutcome_ACTION_OUTCOME_FAILED, Reason: &payload.Reason,
		EventId: &id, Ended: e.GetOccurred(),
	}
	for _, related := range e.GetRelated() {
		if !strings.HasPrefix(related.GetLabels()[s.vocab.ResourceID()], s.vocab.Name("event", "")) {
			action.Related = append(action.Related, related)
		}
	}
	if run := s.relatedInRole(e, "flow-run", "flow-run"); run != "" {
		action.FlowRunId = &run
	}
	return action
}

// addRuns adds the actions whose outcome is not stored as an event: those that wait for an earlier action, are due, or wait
// for another attempt. The event of a run that just ended may still be in the stream.
func (s *Service) addRuns(ctx context.Context, ws uuid.UUID, byEvent map[string]*orchv1.AutomationHistoryFiring) error {
	var triggered bson.A
	for text := range byEvent {
		id, err := uuid.Parse(text)
		if err != nil {
			return fmt.Errorf("read the id of a firing's event: %w", err)
		}
		triggered = append(triggered, store.Binary(id))
	}
	filter := bson.D{{Key: "triggered_event_id", Value: bson.D{{Key: "$in", Value: triggered}}}}
	return s.actions.Each(ctx, ws, store.Query{Filter: filter, Sort: bson.D{{Key: "_id", Value: 1}}}, func(run *orchv1.AutomationActionRun) bool {
		f := byEvent[run.GetTriggeredEventId()]
		if f == nil || hasAction(f, run.GetIndex()) {
			return true
		}
		action := &orchv1.AutomationHistoryAction{
			Index: int64(run.GetIndex()), Type: engine.ActionType(run.GetAction()), Outcome: outcome(run),
		}
		if run.GetReason() != "" {
			action.Reason = &run.Reason
		}
		f.Actions = append(f.Actions, action)
		return true
	})
}

// outcome is that of an action run. A run that ended expires.
func outcome(run *orchv1.AutomationActionRun) orchv1.ActionOutcome {
	switch {
	case run.Expires == nil:
		return orchv1.ActionOutcome_ACTION_OUTCOME_PENDING
	case run.GetReason() != "":
		return orchv1.ActionOutcome_ACTION_OUTCOME_FAILED
	}
	return orchv1.ActionOutcome_ACTION_OUTCOME_EXECUTED
}

// relatedInRole returns the id of the first related resource of a kind and role, empty if there is none.
func (s *Service) relatedInRole(e *orchv1.ReceivedEvent, kind, role string) string {
	for _, related := range e.GetRelated() {
		labels := related.GetLabels()
		if id, ok := strings.CutPrefix(labels[s.vocab.ResourceID()], s.vocab.Name(kind, "")); ok && labels[s.vocab.ResourceRole()] == role {
			return id
		}
	}
	return ""
}

func hasAction(f *orchv1.AutomationHistoryFiring, index int32) bool {
	return slices.ContainsFunc(f.GetActions(), func(a *orchv1.AutomationHistoryAction) bool { return a.GetIndex() == int64(index) })
}
