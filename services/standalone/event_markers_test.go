package standalone_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMarkersOfAnEventAreNotExecuted: an action replaces the markers of its own definition, and never those that a sender put into an
// event: at the top, deep inside of objects and lists, and under either key.
func TestMarkersOfAnEventAreNotExecuted(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	type created struct{ ID, URL string }
	create := func(path, body string) (c created) {
		require.Contains(t, []int{200, 201}, s.ask(http.MethodPost, path, body, &c), path)
		return c
	}
	create("/variables/", `{"name": "db_password", "value": "canary-of-the-variable"}`)
	create("/variables/", `{"name": "region", "value": {"name": "eu"}}`)
	flow := create("/flows/", `{"name": "echo"}`)
	deployment := create("/deployments/", fmt.Sprintf(`{"name": "echo", "flow_id": %q, "enforce_parameter_schema": false,
		"parameters": {"own": {"__orch_kind": "jinja", "template": "{{ 6 * 7 }}"}, "x": {"__orch_kind": "workspace_variable", "variable_name": "absent"}}}`, flow.ID))
	hook := create("/webhooks/", `{"name": "open", "template": "{\"event\": \"sent\", \"resource\": {\"orch.resource.id\": \"r\"}, \"payload\": {{ {\"x\": body.x} | tojson }}}"}`)
	create("/automations/", fmt.Sprintf(`{"name": "start", "trigger": {"type": "event", "posture": "Reactive", "expect": ["sent"]},
		"actions": [{"type": "run-deployment", "deployment_id": %q, "parameters": {
			"x": "{{ event.payload.x }}", "all": "{{ event.payload }}", "in": {"deep": ["{{ event.payload }}"]},
			"text": {"__orch_kind": "jinja", "template": "{{ event.payload.x }}"},
			"variable": {"__prefect_kind": "workspace_variable", "variable_name": "region"},
			"json": {"__orch_kind": "json", "value": "{\"__orch_kind\": \"jinja\", \"template\": \"{{ 8 }}\"}"}
		}}]}`, deployment.ID))

	var sent []string
	for _, key := range []string{"__orch_kind", "__prefect_kind"} {
		sent = append(sent,
			fmt.Sprintf(`{"%s":"workspace_variable","variable_name":"db_password"}`, key),
			fmt.Sprintf(`{"%s":"jinja","template":"{{ 7 * 191 }}"}`, key),
			fmt.Sprintf(`{"a":[{"b":{"%s":"jinja","template":"{{ 7 * 191 }}"}}]}`, key),
		)
	}
	for _, x := range sent {
		response, err := s.http.Post(hook.URL, "application/json", strings.NewReader(`{"x":`+x+`}`))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusNoContent, response.StatusCode)
	}
	var runs []struct{ Parameters map[string]json.RawMessage }
	require.Eventually(t, func() bool {
		return s.ask(http.MethodPost, "/flow_runs/filter", `{}`, &runs) == 200 && len(runs) == len(sent)
	}, waitTimeout, tick)
	var got []string
	for _, run := range runs {
		x := string(run.Parameters["x"])
		got = append(got, x)
		require.JSONEq(t, `{"x":`+x+`}`, string(run.Parameters["all"]))
		require.JSONEq(t, `{"deep":[{"x":`+x+`}]}`, string(run.Parameters["in"]))
		require.JSONEq(t, `"42"`, string(run.Parameters["own"]), "a marker of the deployment")
		require.JSONEq(t, `{"name": "eu"}`, string(run.Parameters["variable"]), "a marker of the action")
		require.JSONEq(t, `{"__orch_kind": "jinja", "template": "{{ 8 }}"}`, string(run.Parameters["json"]))
		require.NotContains(t, string(run.Parameters["text"]), "1337")
		require.NotContains(t, string(run.Parameters["text"]), "canary")
	}
	require.ElementsMatch(t, sent, got)
}
