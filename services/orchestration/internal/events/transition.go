package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// Transition is a state change of a run.
type Transition struct {
	Kind string // "flow-run"
	// Of is the run's id.
	Of       string
	Name     string
	RunCount int64
	// Judgement is the decision that wrote the state.
	Judgement *rules.Judgement
	Related   []*orchv1.RelatedResource
}

const (
	// followsWithin is the maximum age of the previous state for the event to name it as the event that it follows.
	followsWithin = 5 * time.Minute
	// maxStateMessage bounds the state messages in an event, in characters: some contain whole results.
	maxStateMessage = 100_000
)

// Event returns the event of a state change. Its id is the state's.
func (t Transition) Event(v vocabulary.Vocabulary) *orchv1.ReceivedEvent {
	before, state := t.Judgement.Initial, t.Judgement.Proposed
	e := &orchv1.ReceivedEvent{
		Id:       state.GetId(),
		Occurred: state.GetTimestamp(),
		Received: timestamppb.New(t.Judgement.Now),
		Event:    v.Name(t.Kind, state.GetName()),
		Resource: &orchv1.Resource{Labels: map[string]string{
			v.ResourceID():            v.Name(t.Kind, t.Of),
			v.ResourceName():          t.Name,
			v.Name("run-count"):       strconv.FormatInt(t.RunCount, 10),
			v.Name("state-message"):   abridge(state.GetMessage(), maxStateMessage),
			v.Name("state-name"):      state.GetName(),
			v.Name("state-timestamp"): state.GetTimestamp().AsTime().Format(time.RFC3339Nano),
			v.Name("state-type"):      rules.StateName(state.GetType()),
		}},
		Related: t.Related,
		Payload: t.payload(),
	}
	if before != nil && state.GetTimestamp().AsTime().Sub(before.GetTimestamp().AsTime()) <= followsWithin {
		e.Follows = &before.Id
	}
	return e
}

type transitionState struct {
	Type            string `json:"type"`
	Name            string `json:"name"`
	Message         string `json:"message,omitempty"`
	PauseReschedule string `json:"pause_reschedule,omitempty"`
}

func (t Transition) payload() []byte {
	describe := func(s *orchv1.State) *transitionState {
		if s == nil {
			return nil
		}
		d := &transitionState{Type: rules.StateName(s.GetType()), Name: s.GetName(), Message: abridge(s.GetMessage(), maxStateMessage)}
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
	if t.Judgement.Initial != nil {
		payload.Intended.From = new(rules.StateName(t.Judgement.Initial.GetType()))
	}
	payload.Intended.To = new(rules.StateName(t.Judgement.Intended))
	payload.Initial, payload.Validated = describe(t.Judgement.Initial), describe(t.Judgement.Proposed)
	text, err := json.Marshal(payload)
	if err != nil { // Strings always encode.
		return []byte("{}")
	}
	return text
}

// Tags returns the distinct tags of a run as related resources, in order.
func Tags(v vocabulary.Vocabulary, tags ...[]string) []*orchv1.RelatedResource {
	var related []*orchv1.RelatedResource
	for _, tag := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(tags...)))) {
		related = append(related, Related(v, "tag", tag, "tag", ""))
	}
	return related
}

// abridge shortens a text beyond a number of characters. It keeps the beginning and the end, and states how many are
// omitted.
func abridge(text string, characters int) string {
	if len(text) <= characters { // A text has at least as many bytes as characters.
		return text
	}
	all := []rune(text)
	if len(all) <= characters {
		return text
	}
	half := characters / 2
	return string(all[:half]) + fmt.Sprintf("... %d more characters ...", len(all)-2*half) + string(all[len(all)-half:])
}
