package rest_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Refused requests get the status and the body that clients expect.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := s.flow("f")
	deployment := s.visit(201, "POST /deployments/", `{"name": "d", "flow_id": "`+flow+`"}`).text("id")
	unknown := uuid.NewString()
	const tooLong = "Invalid limit: must be less than or equal to 200."
	for _, c := range []struct {
		method, path, body string
		status             int
		// The location of the error in the response, and a part of its message.
		at, says string
	}{
		{"POST", "/flow_runs/filter", `{"limit": 201}`, 422, "detail", tooLong},
		{"POST", "/task_runs/filter", `{"limit": 201}`, 422, "detail", tooLong},
		{"POST", "/flows/filter", `{"limit": 201}`, 422, "detail", tooLong},
		{"POST", "/deployments/filter", `{"limit": 201}`, 422, "detail", tooLong},
		{"POST", "/artifacts/filter", `{"limit": 201}`, 422, "detail", tooLong},
		{"POST", "/variables/filter", `{"limit": 201}`, 422, "detail", tooLong},
		{"GET", "/flow_runs/?limit=201", ``, 422, "detail", tooLong},
		{"POST", "/flow_runs/filter", `{"limit": -1}`, 422, "detail", "Invalid limit"},
		{"POST", "/flow_runs/filter", `{"offset": -1}`, 422, "exception_message", "Invalid request received."},
		{"POST", "/flow_runs/filter", `{"flow_runs": {"id": {"any_": ["x"]}}}`, 422, "exception_detail.0.loc.0", "body"},
		{"POST", "/flow_runs/filter", `{"flow_runs": {"$where": 1}}`, 422, "exception_detail.0.type", "extra_forbidden"},
		{"POST", "/flow_runs/filter", `{"flow_runs": {"name": {"any_": [{"$gt": ""}]}}}`, 422, "exception_detail.0.type", "string_type"},
		{"POST", "/flow_runs/filter", `{"sort": "SIDEWAYS"}`, 422, "exception_detail.0.type", "enum"},
		{"POST", "/flow_runs/history", `{"history_start": "2026-01-01T00:00:00Z", "history_end": "2026-01-02T00:00:00Z", "history_interval_seconds": 0.5}`, 422, "detail", "History interval"},
		{"POST", "/flows/", `{"name": 1}`, 422, "exception_detail.0.loc.1", "name"},
		{"POST", "/flows/", `{`, 422, "exception_message", "Invalid request received."},
		{"POST", "/flows/", ``, 422, "exception_message", "Invalid request received."},
		{"GET", "/flows/not-an-id", ``, 404, "detail", "Not Found"},
		{"GET", "/flow_runs/not-an-id", ``, 404, "detail", "Not Found"},
		{"GET", "/nothing", ``, 404, "detail", "Not Found"},
		{"GET", "/flows/" + unknown, ``, 404, "detail", "Flow not found"},
		{"GET", "/flows/name/unknown", ``, 404, "detail", "Flow not found"},
		{"GET", "/flow_runs/" + unknown, ``, 404, "detail", "Flow run not found"},
		{"GET", "/task_runs/" + unknown, ``, 404, "detail", "Task not found"},
		{"GET", "/deployments/" + unknown, ``, 404, "detail", "Deployment not found"},
		{"GET", "/deployments/name/f/unknown", ``, 404, "detail", "Deployment not found"},
		{"POST", "/flow_runs/" + unknown + "/set_state", `{"state": {"type": "RUNNING"}}`, 404, "exception_message", unknown},
		{"POST", "/task_runs/" + unknown + "/set_state", `{"state": {"type": "RUNNING"}}`, 404, "exception_message", unknown},
		{"GET", "/flow_runs/" + unknown + "/graph", ``, 404, "exception_message", unknown},
		{"GET", "/flow_runs/" + unknown + "/graph-v2", ``, 404, "exception_message", unknown},
		{"POST", "/flow_runs/", `{"flow_id": "` + unknown + `"}`, 409, "detail", "Data integrity conflict"},
		{"POST", "/task_runs/", `{"flow_run_id": "` + unknown + `", "task_key": "t", "dynamic_key": "0"}`, 409, "detail", "Data integrity conflict"},
		{"POST", "/deployments/", `{"name": "x", "flow_id": "` + unknown + `"}`, 409, "detail", ""},
		{"POST", "/deployments/", `{"name": "x", "flow_id": "` + flow + `", "work_pool_name": "none"}`, 404, "detail", "none"},
		{"POST", "/deployments/", `{"name": "x", "flow_id": "` + flow + `", "storage_document_id": "` + unknown + `"}`, 409, "detail", unknown},
		{"POST", "/deployments/", `{"name": "x", "flow_id": "` + flow + `", "infrastructure_document_id": "` + unknown + `"}`, 409, "detail", unknown},
		{"POST", "/deployments/", `{"name": "x", "flow_id": "` + flow + `", "global_concurrency_limit_id": "` + unknown + `"}`, 404, "detail", ""},
		{"POST", "/deployments/" + deployment + "/create_flow_run", ``, 422, "exception_message", "Invalid request received."},
		{"POST", "/deployments/" + deployment + "/create_flow_run", `{"work_queue_name": "q"}`, 400, "detail", "q"},
		{"POST", "/deployments/" + deployment + "/create_flow_run", `{"parameters": {"x": {"__orch_kind": "workspace_variable", "variable_name": "none"}}}`, 400, "detail", "none"},
		{"POST", "/deployments/" + deployment + "/create_flow_run/bulk", `[` + strings.Repeat(`{},`, 100) + `{}]`, 400, "detail", "100"},
		{"POST", "/flow_runs/bulk_delete", `{"limit": 51}`, 422, "", ""},
		{"POST", "/flow_runs/", `{"flow_id": "` + flow + `", "parameters": {"x": "` + strings.Repeat("x", 512<<10) + `"}}`, 422, "exception_message", "Invalid request received."},
		{"PUT", "/flow_runs/" + unknown, `{}`, 405, "detail", "Method Not Allowed"},
		{"PUT", "/task_runs/" + unknown, `{}`, 405, "detail", "Method Not Allowed"},
		{"GET", "/v2/concurrency_limits/none", ``, 404, "detail", ""},
		{"PATCH", "/v2/concurrency_limits/none", `{"limit": 1}`, 404, "detail", ""},
		{"DELETE", "/v2/concurrency_limits/none", ``, 404, "detail", ""},
		{"POST", "/v2/concurrency_limits/", `{"name": "a/b", "limit": 1}`, 422, "exception_detail.0.loc.1", "name"},
		{"POST", "/v2/concurrency_limits/", `{"name": "a", "limit": -1}`, 422, "exception_detail.0.loc.1", "limit"},
		{"POST", "/v2/concurrency_limits/increment-with-lease", `{"names": ["a"], "slots": 1, "lease_duration": 59}`, 422, "exception_detail.0.loc.1", "lease_duration"},
		{"GET", "/concurrency_limits/tag/none", ``, 404, "detail", ""},
		{"GET", "/csrf-token?client=me", ``, 422, "detail", "CSRF protection is disabled."},
	} {
		t.Run(c.method, func(t *testing.T) {
			got := s.send(c.method, c.path, c.body, nil)
			require.Equal(t, c.status, got.status, "%s %s %.80s: %.300s", c.method, c.path, c.body, got.body)
			if c.at != "" {
				require.Contains(t, got.text(c.at), c.says, "%s %s %.80s", c.method, c.path, c.body)
			}
		})
	}
	require.Empty(t, s.visit(200, "POST /flow_runs/filter", `{"limit": 0}`).at(""))
	require.Empty(t, s.visit(200, "POST /flows/filter", `{"flows": {"name": {"any_": []}}}`).at(""), "nothing is in an empty list")
	require.Len(t, s.visit(200, "POST /flows/filter", `{"flows": {"name": {"any_": null}}}`).at(""), 1, "null is no criterion")
}

func TestVersionsOfTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, name := range []string{"X-Prefect-Api-Version", "X-Orch-Api-Version"} {
		for version, status := range map[string]int{"0.8.4": 200, "0.8.0": 200, "9.9.9": 200, "0.7.9": 400, "0.8": 400, "a.b.c": 400} {
			header := http.Header{name: {version}}
			got := s.send("POST", "/flows/count", "", header)
			require.Equal(t, status, got.status, "%s %s: %s", name, version, got.body)
			if status == 400 {
				require.NotEmpty(t, got.text("detail"))
			}
			require.Equal(t, 200, s.send("GET", "/health", "", header).status)
			require.Equal(t, 200, s.send("GET", "/version", "", header).status)
		}
	}
}

func TestNotationsOfRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	require.Equal(t, 201, s.send("POST", "/flows/", `{"name": "f"}`, http.Header{"Content-Type": nil}).status, "a body without a type is JSON")
	for _, path := range []string{"/flows", "/flows/", "/flows/filter", "/flows/filter/"} {
		method := map[bool]string{true: "POST", false: "GET"}[strings.Contains(path, "filter")]
		require.Equal(t, 200, s.send(method, path, "", nil).status, path)
	}
	accepted := http.Header{"Accept-Encoding": {"gzip"}}
	require.Empty(t, s.send("POST", "/flows/filter", "", accepted).header.Get("Content-Encoding"), "a small response is not compressed")
	for letter := 'a'; letter <= 'l'; letter++ {
		require.Equal(t, 201, s.send("POST", "/flows/", `{"name": "`+string(letter)+strings.Repeat("x", 499)+`"}`, nil).status)
	}
	zipped := s.send("POST", "/flows/filter", "", accepted)
	require.Equal(t, "gzip", zipped.header.Get("Content-Encoding"))
	reader, err := gzip.NewReader(strings.NewReader(string(zipped.body)))
	require.NoError(t, err)
	text, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "[{"))
}
