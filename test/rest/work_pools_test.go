package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// template returns a job template with the variables that these properties declare.
func template(properties string) string {
	return `{"job_configuration":{"c":"x"},"variables":{"type":"object","properties":` + properties + `}}`
}

// bomb is a schema of variables in which each definition refers twice to the next.
func bomb() string {
	var definitions []string
	for i := range 60 {
		definitions = append(definitions, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]}`, i, i+1, i+1))
	}
	return `{"job_configuration":{"a":"b"},"variables":{"properties":{"a":{"$ref":"#/definitions/d0","default":1}},"definitions":{` +
		strings.Join(definitions, ",") + `,"d60":{"type":"string"}}}}`
}

// TestWorkPoolsRefuseBadInput checks the status and the message of invalid requests.
func TestWorkPoolsRefuseBadInput(t *testing.T) {
	t.Parallel()
	s := start(t)
	require.Equal(t, 201, s.send("POST", "/work_pools/", `{"name":"p","type":"process"}`, nil).status)
	blockType := s.visit(201, "POST /block_types/", `{"name":"x","slug":"x"}`).at("id").(string)
	schema := s.visit(201, "POST /block_schemas/", `{"block_type_id":"`+blockType+`","fields":{"title":"x","type":"object","properties":{"foo":{"type":"string"}}}}`).at("id").(string)
	block := s.visit(201, "POST /block_documents/", `{"name":"b","block_type_id":"`+blockType+`","block_schema_id":"`+schema+`","data":{"foo":"bar"}}`).at("id").(string)
	for _, c := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"POST", "/work_pools/", `{"name":"Prefect-x"}`, 403, "reserved for internal use"},
		{"POST", "/work_pools/", `{"name":"p"}`, 409, "A work pool with this name already exists."},
		{"POST", "/work_pools/", `{"name":"a/b"}`, 422, ""},
		{"POST", "/work_pools/", `{"name":""}`, 422, ""},
		{"POST", "/work_pools/", `{"name":" "}`, 422, "name cannot be an empty string"},
		{"POST", "/work_pools/", `{"name":"' ' "}`, 422, "name cannot be an empty string"},
		{"POST", "/work_pools/", `{"name":"q","concurrency_limit":-1}`, 422, ""},
		{"POST", "/work_pools/", `{"name":"q","more":1}`, 422, ""},
		{"POST", "/work_pools/", `{"name":"q","base_job_template":{"variables":{"a":1}}}`, 422, "must contain both"},
		{
			"POST", "/work_pools/", `{"name":"q","base_job_template":{"job_configuration":{"a":"{{ b }}"},"variables":{"properties":{"c":{}}}}}`, 422,
			"The variables specified in the job configuration template must be present as properties in the variables schema. Your job configuration uses the following undeclared variable(s): b.",
		},
		{"POST", "/work_pools/", `{"name":"q","base_job_template":` + template(`{"b":{"type":"string","default":1}}`) + `}`, 422, "Validation failed for field 'b'"},
		{"POST", "/work_pools/", `{"name":"q","base_job_template":` + template(`{"b":{"type":"none"}}`) + `}`, 422, "Invalid schema: "},
		{"POST", "/work_pools/", `{"name":"q","base_job_template":` + template(`{"b":{"default":{"$ref":{"block_document_id":"x"}}}}`) + `}`, 404, "Block not found."},
		{
			"POST", "/work_pools/", `{"name":"q","base_job_template":` + template(`{"b":{"type":"string","default":{"$ref":{"block_document_id":"`+block+`"}}}}`) + `}`, 422,
			"Failure reason: {'foo': 'bar'} is not of type 'string'",
		},
		{"POST", "/work_pools/", `{"name":"q","base_job_template":` + bomb() + `}`, 422, "too complex"},
		{"POST", "/work_pools/", `{"name":"q","base_job_template":` + template(`{"b":{"$ref":"#/properties/b","default":1}}`) + `}`, 422, ""},
		{"PATCH", "/work_pools/p", `{"base_job_template":{"job_configuration":{}}}`, 422, "must contain both"},
		{"PATCH", "/work_pools/prefect-managed", `{"description":"x"}`, 403, "reserved"},
		{"DELETE", "/work_pools/Prefect", ``, 403, "reserved"},
		{"GET", "/work_pools/none", ``, 404, `Work pool \"none\" not found.`},
		{"PATCH", "/work_pools/none", `{}`, 404, `Work pool \"none\" not found.`},
		{"DELETE", "/work_pools/none", ``, 404, `Work pool \"none\" not found.`},
		{"POST", "/work_pools/none/get_scheduled_flow_runs", `{}`, 404, "not found"},
		{"POST", "/work_pools/p/get_scheduled_flow_runs", `{"work_queue_names":["default","none"]}`, 404, "Work pool queue 'p/none' not found."},
		{"POST", "/work_pools/p/get_scheduled_flow_runs", `{"limit":201}`, 422, "Invalid limit"},
		{"POST", "/work_pools/p/queues", `{"name":"default"}`, 409, "already exists in work pool"},
		{"POST", "/work_pools/p/queues", `{"name":"q","priority":0}`, 422, ""},
		{"POST", "/work_pools/p/queues", `{"name":"a%b"}`, 422, ""},
		{"PATCH", "/work_pools/p/queues/default", `{"name":"a/b"}`, 422, ""},
		{"GET", "/work_pools/p/queues/none", ``, 404, "Work pool queue 'p/none' not found."},
		{"DELETE", "/work_pools/p/queues/default", ``, 409, "default queue"},
		{"POST", "/work_pools/p/workers/heartbeat", `{"name":""}`, 422, ""},
		{"POST", "/work_pools/p/workers/heartbeat", ``, 422, `"missing","loc":["body","name"],"msg":"Field required","input":null`},
		{"POST", "/variables/", `{"name":"` + strings.Repeat("x", 256) + `","value":1}`, 422, "Value should have at most 255 items after validation, not 256"},
		{"POST", "/work_pools/p/workers/heartbeat", `{"name":"` + strings.Repeat("x", 2000) + `"}`, 422, ""},
		{"POST", "/work_pools/none/workers/heartbeat", `{"name":"w"}`, 404, "not found"},
		{"DELETE", "/work_pools/p/workers/none", ``, 404, "Worker not found."},
		{"GET", "/work_queues/00000000-0000-0000-0000-000000000001", ``, 404, "work queue not found"},
		{"GET", "/work_queues/name/none", ``, 404, "work queue not found"},
		{"PATCH", "/work_queues/00000000-0000-0000-0000-000000000001", `{}`, 404, "Work Queue 00000000-0000-0000-0000-000000000001 not found"},
		{"GET", "/work_queues/00000000-0000-0000-0000-000000000001/status", ``, 404, "Work queue with id 00000000-0000-0000-0000-000000000001 not found"},
		{"POST", "/work_queues/00000000-0000-0000-0000-000000000001/get_runs", `{}`, 404, "exception_message"},
		{"GET", "/collections/views/zzz", ``, 404, "View zzz not found in registry"},
	} {
		t.Run(c.method, func(t *testing.T) {
			got := s.send(c.method, c.path, c.body, nil)
			require.Equal(t, c.status, got.status, "%s %s %.200s: %s", c.method, c.path, c.body, got.body)
			require.Contains(t, string(got.body), c.text, "%s %s", c.method, c.path)
		})
	}
	large := template(`{"b":{"type":"string","description":"` + strings.Repeat("x", 5<<20) + `"}}`)
	require.Less(t, s.send("POST", "/work_pools/", `{"name":"large","base_job_template":`+large+`}`, nil).status, 500)
}

// TestWorkPoolLifeCycle follows a pool from its creation to its deletion, with a deployment and runs.
func TestWorkPoolLifeCycle(t *testing.T) {
	t.Parallel()
	s := start(t)
	object := func(want int, method, path, body string) map[string]any {
		got := s.send(method, path, body, nil)
		require.Equal(t, want, got.status, "%s %s: %s", method, path, got.body)
		var decoded map[string]any
		if len(got.body) > 0 {
			require.NoError(t, json.Unmarshal(got.body, &decoded))
		}
		return decoded
	}
	list := func(path, body string) []map[string]any {
		got := s.send("POST", path, body, nil)
		require.Equal(t, http.StatusOK, got.status, "%s: %s", path, got.body)
		var decoded []map[string]any
		require.NoError(t, json.Unmarshal(got.body, &decoded))
		return decoded
	}
	pool := object(201, "POST", "/work_pools/", `{"name":"p","type":"process","base_job_template":`+
		`{"job_configuration":{"n":"{{ n }}"},"variables":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}`)
	require.Equal(t, "NOT_READY", pool["status"])
	object(204, "POST", "/work_pools/p/workers/heartbeat", `{"name":"w","heartbeat_interval_seconds":1}`)
	require.Equal(t, "READY", object(200, "GET", "/work_pools/p", "")["status"])
	require.Len(t, list("/work_pools/p/workers/filter", `{"workers":{"status":{"any_":["ONLINE"]}}}`), 1)
	object(204, "PATCH", "/work_pools/p", `{"is_paused":true}`)
	require.Equal(t, "PAUSED", object(200, "GET", "/work_pools/p", "")["status"])
	object(204, "PATCH", "/work_pools/p", `{"is_paused":false}`)
	require.Equal(t, "READY", object(200, "GET", "/work_pools/p", "")["status"])

	flow := object(201, "POST", "/flows/", `{"name":"f"}`)["id"].(string)
	object(422, "POST", "/deployments/", `{"name":"d","flow_id":"`+flow+`","work_pool_name":"p","job_variables":{"n":"x"}}`)
	d := object(201, "POST", "/deployments/", `{"name":"d","flow_id":"`+flow+`","work_pool_name":"p","work_queue_name":"q"}`)
	require.Equal(t, "q", d["work_queue_name"])
	id := d["id"].(string)
	object(422, "POST", "/deployments/"+id+"/create_flow_run", `{}`)
	run := object(201, "POST", "/deployments/"+id+"/create_flow_run", `{"job_variables":{"n":1}}`)
	require.Equal(t, pool["id"], run["work_pool_id"])
	require.Len(t, list("/flow_runs/filter", `{"work_pools":{"name":{"any_":["p"]}}}`), 1)
	require.Len(t, list("/flow_runs/filter", `{"work_pool_queues":{"name":{"any_":["q"]}}}`), 1)
	require.Len(t, list("/work_pools/p/get_scheduled_flow_runs", `{}`), 1)
	require.Equal(t, "READY", object(200, "GET", "/deployments/"+id, "")["status"])
	object(204, "PATCH", "/work_pools/p/queues/q", `{"name":"r"}`)
	require.Equal(t, "r", object(200, "GET", "/flow_runs/"+run["id"].(string), "")["work_queue_name"])
	require.Equal(t, "r", object(200, "GET", "/deployments/"+id, "")["work_queue_name"])

	bare := object(201, "POST", "/deployments/", `{"name":"bare","flow_id":"`+flow+`","work_queue_name":"agents"}`)
	require.Equal(t, "default-agent-pool", bare["work_pool_name"])
	require.EqualValues(t, 1, object(200, "GET", "/work_queues/name/agents", "")["priority"])

	object(204, "DELETE", "/work_pools/p", "")
	require.Nil(t, object(200, "GET", "/deployments/"+id, "")["work_queue_name"])
	require.Nil(t, object(200, "GET", "/flow_runs/"+run["id"].(string), "")["work_pool_id"])
	object(404, "GET", "/work_pools/p", "")
	object(201, "POST", "/work_pools/", `{"name":"p"}`)
}
