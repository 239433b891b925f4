// Package simulate runs the triggers of one automation over a given sequence of events and times, in memory, by the
// evaluator that the server runs.
//
//	one line of JSON ──► Case ──► trigger.Session over trigger.Memory ──► firings, or whether a filter matches
//
// A line is a case of triggers (automation, steps) or of matching (match, match_related, expect, after, event).
package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/match"
)

// Case is an automation and what happens after it was created.
type Case struct {
	Name       string          `json:"name"`
	Kind       string          `json:"kind"`
	Tags       []string        `json:"tags"`
	Automation json.RawMessage `json:"automation"`
	Steps      []Step          `json:"steps"`
	Expect     []Firing        `json:"expect"`
}

// Step is one thing that happens at a time.
type Step struct {
	At       time.Time       `json:"at"`
	Received *time.Time      `json:"received"`
	Event    json.RawMessage `json:"event"`
	Tick     bool            `json:"tick"`
	Enabled  *bool           `json:"enabled"`
	Update   json.RawMessage `json:"update"`
	Delete   bool            `json:"delete"`
	Restart  bool            `json:"restart"`
}

// Firing is a trigger that fired.
type Firing struct {
	AtStep  int               `json:"at_step"`
	Trigger string            `json:"trigger"`
	State   string            `json:"state"`
	Event   *string           `json:"event"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Count and Window are those of an event trigger's window.
	Count  *int64   `json:"count,omitempty"`
	Window []string `json:"window,omitempty"`
	// Firings are the child firings that a compound trigger or a sequence used.
	Firings []ChildFiring `json:"firings,omitempty"`
}

// ChildFiring is a child firing that a parent used.
type ChildFiring struct {
	Trigger string  `json:"trigger"`
	Event   *string `json:"event"`
}

// Line evaluates one line and returns the line that answers it: {"firings": [...]}, {"matches": true} or
// {"error": "..."}.
func Line(line []byte) []byte {
	answer, err := evaluate(line)
	if err != nil {
		answer = map[string]string{"error": err.Error()}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return []byte(`{"error":"encode the answer"}` + "\n")
	}
	return out.Bytes()
}

func evaluate(line []byte) (any, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, fmt.Errorf("read a case: %w", err)
	}
	if members["automation"] == nil {
		matches, err := Matches(members)
		return map[string]bool{"matches": matches}, err
	}
	var c Case
	if err := json.Unmarshal(line, &c); err != nil {
		return nil, fmt.Errorf("read a case: %w", err)
	}
	firings, err := c.Run()
	return map[string][]Firing{"firings": firings}, err
}

// Matches reports whether an event trigger of the members match, match_related, expect and after takes the event.
func Matches(members map[string]json.RawMessage) (bool, error) {
	if members["event"] == nil {
		return false, fmt.Errorf("read a case: it has neither an automation nor an event")
	}
	filter := map[string]json.RawMessage{"posture": json.RawMessage(`"Reactive"`)}
	for _, name := range []string{"match", "match_related", "expect", "after"} {
		if value := members[name]; value != nil {
			filter[name] = value
		}
	}
	text, err := json.Marshal(filter)
	if err != nil {
		return false, fmt.Errorf("read a case: %w", err)
	}
	t := &orchv1.EventTrigger{}
	if err := restjson.Unmarshal(text, t); err != nil {
		return false, fmt.Errorf("read the trigger: %w", err)
	}
	e, err := readEvent(members["event"])
	if err != nil {
		return false, err
	}
	starts, expected := match.NewFilter(t).Matches(e)
	return starts || expected, nil
}

// event is what a case says of an event. Times and ids may be absent where they do not matter.
type event struct {
	ID       string              `json:"id"`
	Event    string              `json:"event"`
	Occurred json.RawMessage     `json:"occurred"`
	Resource map[string]string   `json:"resource"`
	Related  []map[string]string `json:"related"`
	Payload  json.RawMessage     `json:"payload"`
	Follows  *string             `json:"follows"`
}

// vocabularyOf is the vocabulary that a text speaks.
func vocabularyOf(text []byte) vocabulary.Vocabulary {
	if bytes.Contains(text, []byte(vocabulary.Orch.ResourceID())) {
		return vocabulary.Orch
	}
	return vocabulary.Prefect
}
