package standalone_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// approval is what the SDK stores for a model with a field of each kind.
const approval = `{"type": "object", "title": "Approval", "additionalProperties": false, "required": ["ticket", "sure"],
	"$defs": {"Env": {"enum": ["staging", "production"], "type": "string"},
		"Place": {"type": "object", "required": ["street"], "properties": {"street": {"type": "string"}, "number": {"type": "integer", "default": 1}}}},
	"properties": {"ticket": {"type": "string", "title": "Ticket number"}, "sure": {"type": "boolean"}, "dry": {"type": "boolean", "default": true},
		"env": {"$ref": "#/$defs/Env", "default": "staging"}, "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
		"count": {"type": "integer", "default": 3, "maximum": 5}, "at": {"type": "string", "format": "date-time"},
		"where": {"$ref": "#/$defs/Place", "default": {"street": "Main", "number": 2}}, "tags": {"type": "array", "items": {"type": "string"}, "default": []}}}`

// paused creates a run that is paused, or suspended, for an input with this schema; empty means without an input.
func (s *server) paused(state, schema string) (run string) {
	s.t.Helper()
	flow := s.create("/flows/", `{"name": "release"}`)
	deployment := s.create("/deployments/", fmt.Sprintf(`{"flow_id": %q, "name": "release"}`, flow)) // A suspended run is scheduled again.
	run = s.create("/deployments/"+deployment+"/create_flow_run", `{}`)
	details := map[string]any{"pause_timeout": time.Now().Add(10*time.Minute - time.Second), "pause_key": "1", "pause_reschedule": state == "Suspended"}
	if schema != "" {
		details["run_input_keyset"] = map[string]string{"schema": "paused-1-schema", "description": "paused-1-description", "response": "paused-1-response"}
		for key, value := range map[string]string{"schema": schema, "description": `"# Release to production?"`} {
			input, err := json.Marshal(map[string]string{"key": "paused-1-" + key, "value": value})
			require.NoError(s.t, err)
			require.Equal(s.t, 201, s.ask(http.MethodPost, "/flow_runs/"+run+"/input", string(input), nil))
		}
	}
	text, err := json.Marshal(map[string]any{"type": "PAUSED", "name": state, "state_details": details})
	require.NoError(s.t, err)
	s.force(run, `{"type": "PENDING"}`)
	s.force(run, `{"type": "RUNNING"}`)
	s.force(run, string(text))
	return run
}

// state returns the name of a run's state.
func (s *server) state(run string) string {
	s.t.Helper()
	var got struct{ State struct{ Name string } }
	require.Equal(s.t, 200, s.ask(http.MethodGet, "/flow_runs/"+run, "", &got))
	return got.State.Name
}

func TestAPausedRunAsksForItsInput(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for state, resumed := range map[string]string{"Paused": "Running", "Suspended": "Resuming"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := s.forTest(t)
			run := s.paused(state, approval)
			page := "/runs/flow-run/" + run
			text := s.page(page)
			for name, part := range map[string]string{
				"the description": ">Release to production?</h", "a field": "Ticket number (required)", "the time that is left": "expires in 9 min",
				"a default": `value="3"`, "a nested default": `name="p.where/street" type="text" value="Main"`,
			} {
				require.Contains(t, text, part, name)
			}
			require.NotContains(t, text, ">Resume</button>", "it cannot be resumed without an answer")

			refused := s.submit(page, url.Values{"action": {"resume-run"}, "p.env": {`"production"`}, "p.count": {"9"}, "p.where/street": {""}, "p.note": {"typed <before>"}})
			require.Equal(t, state, s.state(run), "a required field is demanded")
			for _, id := range []string{"p.ticket", "p.sure", "p.where/street"} {
				require.Contains(t, refused, `aria-describedby="`+id+`-error"`, "the error is beside its field")
			}
			require.Contains(t, refused, "typed &lt;before&gt;", "what was typed stays")
			tooMany := s.submit(page, url.Values{"action": {"resume-run"}, "p.ticket": {"T-1"}, "p.sure": {"true"}, "p.env": {`"staging"`}, "p.count": {"9"}, "p.where/street": {"Side"}})
			require.Contains(t, tooMany, `aria-describedby="p.count-error"`, "the schema decides beside the field, too")
			require.Equal(t, state, s.state(run))

			s.submit(page, url.Values{
				"action": {"resume-run"}, "p.ticket": {"T-1"}, "p.sure": {"true"}, "p.env": {`"production"`}, "p.note": {""}, "p.count": {"4"},
				"p.at": {"2030-01-31T12:00"}, "p.where/street": {"Side"}, "p.where/number": {"7"}, "p.tags": {`["a"]`},
			})
			require.Equal(t, resumed, s.state(run))
			var answer map[string]any
			require.Equal(t, 200, s.ask(http.MethodGet, "/flow_runs/"+run+"/input/paused-1-response", "", &answer), "the run reads what was entered")
			require.Equal(t, map[string]any{
				"ticket": "T-1", "sure": true, "dry": false, "env": "production", "note": nil, "count": 4.0, "at": "2030-01-31T12:00:00Z",
				"where": map[string]any{"street": "Side", "number": 7.0}, "tags": []any{"a"},
			}, answer)
		})
	}
}

func TestAPausedRunWithoutAnInputHasAButton(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	run := s.paused("Paused", "")
	require.Contains(t, s.page("/runs/flow-run/"+run), ">Resume</button>")
	s.submit("/runs/flow-run/"+run, url.Values{"action": {"resume-run"}})
	require.Equal(t, "Running", s.state(run))
}

func TestAPausedRunWhoseSchemaIsNoFormTakesJSON(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	run := s.paused("Paused", `{"type": "object", "required": ["a"]}`)
	page := "/runs/flow-run/" + run
	require.Contains(t, s.page(page), "Answer as JSON")
	require.Contains(t, s.submit(page, url.Values{"action": {"resume-run"}, "parameters": {"[1"}}), "not a JSON object")
	require.Equal(t, "Paused", s.state(run))
	s.submit(page, url.Values{"action": {"resume-run"}, "parameters": {`{"a": 1}`}})
	require.Equal(t, "Running", s.state(run))
}
