//go:build e2eweb

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostile is user text that would run as a script if a page did not escape it.
const hostile = `<img src=x onerror="document.title='at'+'tacked'"><script>document.title='at'+'tacked'</script>'"&`

// named is the worst beginning of a name for which the API forbids angle brackets and ampersands.
const named = `"' autofocus onfocus=document.title='at'+'tacked' `

// seeder creates objects over REST.
type seeder struct {
	t   *testing.T
	api string
}

type object = map[string]any

// post creates an object and returns its id.
func (s seeder) post(path string, body any) string {
	s.t.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(s.t, err)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.api+path, bytes.NewReader(encoded))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, response.Body.Close()) }()
	var answer struct {
		ID string `json:"id"`
	}
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Less(s.t, response.StatusCode, 300, "POST %s: %s", path, text)
	_ = json.Unmarshal(text, &answer) // Some answers are no objects.
	return answer.ID
}

// seed creates one of everything that pages show, with hostile names.
func seed(t *testing.T, api string) {
	s := seeder{t, api}
	flow := s.post("/flows/", object{"name": named + "flow"})
	s.post("/work_pools/", object{"name": "pool", "type": "process", "description": hostile})
	deployment := s.post("/deployments/", object{
		"name": named + "deployment", "flow_id": flow, "work_pool_name": "pool", "description": "# Title\n\n" + hostile,
		"schedules":                []object{{"schedule": object{"cron": "0 2 * * *", "timezone": "UTC"}}},
		"parameter_openapi_schema": object{"type": "object", "properties": object{"limit": object{"type": "integer", "title": "limit"}}},
	})
	run := ""
	for i := range 20 {
		run = s.post("/flow_runs/", object{
			"flow_id": flow, "deployment_id": deployment, "name": fmt.Sprintf("run %d %s", i, hostile), "tags": []string{hostile},
			"parameters": object{"text": hostile}, "state": object{"type": "SCHEDULED"},
		})
		for _, state := range []string{"PENDING", "RUNNING", "FAILED"} {
			s.post("/flow_runs/"+run+"/set_state", object{"state": object{"type": state, "message": hostile}, "force": true})
		}
	}
	task := s.post("/task_runs/", object{"flow_run_id": run, "task_key": "task", "dynamic_key": "0", "name": "task " + hostile})
	s.post("/task_runs/"+task+"/set_state", object{"state": object{"type": "RUNNING"}, "force": true})
	var logs []object
	for i := range 100 {
		logs = append(logs, object{
			"name": "flow_runs", "level": 10 * (1 + i%5), "message": fmt.Sprintf("line %d %s", i, hostile),
			"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "flow_run_id": run, "task_run_id": task,
		})
	}
	s.post("/logs/", logs)
	s.post("/artifacts/", object{"key": "report", "type": "markdown", "data": "# Report\n\n" + hostile + "\n\n[x](javascript:alert(1)) ![x](https://example.com/x.png)", "flow_run_id": run})
	s.post("/variables/", object{"name": "variable", "value": hostile})
	s.post("/v2/concurrency_limits/", object{"name": "limit", "limit": 2})
	s.post("/automations/", object{
		"name": "automation " + hostile, "trigger": object{"type": "event", "posture": "Reactive", "expect": []string{"x.y"}, "threshold": 1, "within": 0},
		"actions": []object{{"type": "do-nothing"}},
	})
	s.post("/webhooks/", object{"name": "webhook", "template": `{"event": "x.y", "resource": {"orch.resource.id": "x"}}`})
	id, address := webhookWith(t, api, brokenTemplate)
	require.Equal(t, http.StatusBadRequest, call(t, http.MethodPost, address, object{"text": hostile}, nil))
	logged(t, api, id, failing+1)
}
