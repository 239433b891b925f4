package flowruns

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindHistory is the effect that writes a row of the history.
const kindHistory = "flow_run_state"

// effects are what a written state causes: its row of the history and its event, both known by the state's id.
func (s *Service) effects(ws uuid.UUID, t *rules.Transition, flowName string, revision int64) ([]store.Effect, error) {
	row, err := record(ws, t, revision)
	if err != nil {
		return nil, err
	}
	event, err := events.Publish(ws, s.event(t, flowName))
	if err != nil {
		return nil, err
	}
	return []store.Effect{row, event}, nil
}

func record(ws uuid.UUID, t *rules.Transition, revision int64) (store.Effect, error) {
	state := t.Proposed
	id, err := uuid.Parse(state.GetId())
	if err != nil {
		return store.Effect{}, fmt.Errorf("read the id of a state: %w", err)
	}
	body, err := proto.MarshalOptions{}.MarshalAppend(append([]byte(nil), ws[:]...), &orchv1.FlowRunStateRecord{
		Id: state.GetId(), FlowRunId: t.Run.GetId(), RunRevision: revision, Timestamp: state.GetTimestamp(), State: state,
	})
	if err != nil {
		return store.Effect{}, fmt.Errorf("write a row of the history: %w", err)
	}
	return store.Effect{ID: id, At: t.Now, Kind: kindHistory, Body: body}, nil
}

func recordOf(e store.Effect) (uuid.UUID, *orchv1.FlowRunStateRecord, error) {
	if len(e.Body) < len(uuid.UUID{}) {
		return uuid.Nil, nil, fmt.Errorf("read an effect: %d bytes are no state", len(e.Body))
	}
	record := &orchv1.FlowRunStateRecord{}
	if err := proto.Unmarshal(e.Body[16:], record); err != nil {
		return uuid.Nil, nil, fmt.Errorf("read an effect: %w", err)
	}
	return uuid.UUID(e.Body[:16]), record, nil
}

// WriteHistory carries out effects of the kind that the service's writes cause.
func (s *Service) WriteHistory(ctx context.Context, effects []store.Effect) error {
	rows := make([]bson.Raw, 0, len(effects))
	for _, e := range effects {
		ws, record, err := recordOf(e)
		if err != nil {
			return err
		}
		row, err := store.NewDocument(ws, record, time.Time{})
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return s.states.InsertNew(ctx, rows)
}

// followsWithin is how near the previous state must be to be named as the one that the event follows.
const followsWithin = 5 * time.Minute

// maxStateMessage bounds the message in an event's labels, in characters.
const maxStateMessage = 250

// event is what the world learns of a written state.
func (s *Service) event(t *rules.Transition, flowName string) *orchv1.ReceivedEvent {
	run, state := t.Run, t.Proposed
	v := s.words
	e := &orchv1.ReceivedEvent{
		Id:       state.GetId(),
		Occurred: state.GetTimestamp(),
		Received: timestamppb.New(t.Now),
		Event:    v.Name("flow-run", state.GetName()),
		Resource: &orchv1.Resource{Labels: map[string]string{
			v.ResourceID():            v.Name("flow-run", run.GetId()),
			v.ResourceName():          run.GetName(),
			v.Name("run-count"):       strconv.FormatInt(run.GetRunCount(), 10),
			v.Name("state-message"):   truncate(state.GetMessage(), maxStateMessage),
			v.Name("state-name"):      state.GetName(),
			v.Name("state-timestamp"): state.GetTimestamp().AsTime().Format(time.RFC3339Nano),
			v.Name("state-type"):      word(state.GetType()),
		}},
		Related: s.relatedTo(run, flowName),
		Payload: transitionPayload(t),
	}
	if before := t.Initial; before != nil && state.GetTimestamp().AsTime().Sub(before.GetTimestamp().AsTime()) <= followsWithin {
		e.Follows = &before.Id
	}
	return e
}

func (s *Service) relatedTo(run *orchv1.FlowRun, flowName string) []*orchv1.RelatedResource {
	v := s.words
	related := []*orchv1.RelatedResource{events.Related(v, "flow", run.GetFlowId(), "flow", flowName)}
	if run.DeploymentId != nil {
		related = append(related, events.Related(v, "deployment", run.GetDeploymentId(), "deployment", ""))
	}
	if run.ParentTaskRunId != nil {
		related = append(related, events.Related(v, "task-run", run.GetParentTaskRunId(), "task-run", ""))
	}
	tags := append([]string(nil), run.GetTags()...)
	sort.Strings(tags)
	for i, tag := range tags {
		if i == 0 || tag != tags[i-1] {
			related = append(related, events.Related(v, "tag", tag, "tag", ""))
		}
	}
	return related
}

type transitionState struct {
	Type            string  `json:"type"`
	Name            string  `json:"name"`
	Message         *string `json:"message"`
	PauseReschedule string  `json:"pause_reschedule,omitempty"`
}

func transitionPayload(t *rules.Transition) []byte {
	describe := func(s *orchv1.State) *transitionState {
		if s == nil {
			return nil
		}
		d := &transitionState{Type: word(s.GetType()), Name: s.GetName(), Message: new(s.GetMessage())}
		if s.GetType() == orchv1.StateType_STATE_TYPE_PAUSED {
			d.PauseReschedule = strconv.FormatBool(s.GetStateDetails().GetPauseReschedule())
		}
		return d
	}
	var payload struct {
		Intended struct {
			From *string `json:"from"`
			To   *string `json:"to"`
		} `json:"intended"`
		Initial   *transitionState `json:"initial_state"`
		Validated *transitionState `json:"validated_state"`
	}
	if t.Initial != nil {
		payload.Intended.From = new(word(t.Initial.GetType()))
	}
	payload.Intended.To = new(word(t.Intended))
	payload.Initial, payload.Validated = describe(t.Initial), describe(t.Proposed)
	text, err := json.Marshal(payload)
	if err != nil { // Strings and nothing else: it cannot be.
		return []byte("{}")
	}
	return text
}

func word(kind orchv1.StateType) string { return kind.String()[len("STATE_TYPE_"):] }

// truncate cuts a text to a number of characters.
func truncate(text string, characters int) string {
	n := 0
	for i := range text {
		if n == characters {
			return text[:i]
		}
		n++
	}
	return text
}
