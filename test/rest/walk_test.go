package rest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// later is a time in the future.
var later = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)

// A client calls every operation on flows, runs, deployments and their dependents at least once with typical requests;
// each response matches the document.
func TestWalkOverTheRoutes(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.walkRoot()
	s.walkDeadLetters()
	s.walkRetention()
	s.walkRunTimeouts()
	s.walkDestinations()
	s.walkEventTypes()
	s.walkFlows()
	s.walkFlowRuns()
	s.walkTaskRuns()
	s.walkInputs()
	s.walkDeployments()
	s.walkBackfills()
	s.walkArtifacts()
	s.walkVariables()
	s.walkSearches()
	s.walkLimits()
	s.walkTagLimits()
	s.walkInterface()
	require.Empty(t, s.unvisited("Root", "Admin", "Flows", "Flow Runs", "Flow Run States", "Task Runs", "Task Run States",
		"Deployments", "Backfills", "Artifacts", "Variables", "SavedSearches", "Concurrency Limits", "Concurrency Limits V2", "Destinations", "Event types", "UI"))
}

func (s *server) walkRoot() {
	t := s.t
	require.Equal(t, true, s.visit(200, "GET /health", "").at(""))
	require.Equal(t, "OK", s.visit(200, "GET /ready", "").text("message"))
	require.Equal(t, "0.8.4", s.visit(200, "GET /version", "").text(""))
	s.visit(200, "GET /hello", "")
	require.Equal(t, "test", s.visit(200, "GET /admin/version", "").text(""))
	settings := s.visit(200, "GET /admin/settings", "")
	require.Equal(t, "orch", settings.text("ORCH_VOCABULARY"))
	require.Equal(t, map[string]any{"analytics_enabled": false, "ui": map[string]any{"show_promotional_content": false}}, settings.at("server"))
	require.Equal(t, "CSRF protection is disabled.", s.visit(422, "GET /csrf-token?client=me", "").text("detail"))
	require.Nil(t, s.visit(200, "GET /admin/storage", "").at("default_result_storage_block_id"))
	s.ask("PUT /admin/storage", `{"default_result_storage_block_id": "`+uuid.NewString()+`"}`)
	s.visit(204, "DELETE /admin/storage", "")
	require.Equal(t, false, s.visit(200, "GET /admin/maintenance", "").at("enabled"))
	require.Equal(t, false, s.visit(200, "PUT /admin/maintenance", `{"enabled": false}`).at("enabled"))
	s.visit(422, "PUT /admin/maintenance", `{"enabled": "soon"}`)
}

// walkDeadLetters calls the dead letter operations on a server without failures: the list is empty, and every id is
// unknown.
func (s *server) walkDeadLetters() {
	t := s.t
	require.Empty(t, s.visit(200, "POST /admin/dead_letters/filter", "").at(""))
	require.Empty(t, s.visit(200, "POST /admin/dead_letters/filter", `{"limit": 5, "after": "1"}`).at(""))
	for _, id := range []string{uuid.NewString(), "1", "neither"} {
		for _, operation := range []string{"GET /admin/dead_letters/{id}", "POST /admin/dead_letters/{id}/retry", "DELETE /admin/dead_letters/{id}"} {
			require.Equal(t, "Dead letter not found", s.visit(404, operation, "", id).text("detail"), "%s %s", operation, id)
		}
	}
}

// walkRetention plans, sets and executes a retention policy, and removes its rules.
func (s *server) walkRetention() {
	t := s.t
	require.Empty(t, s.visit(200, "GET /admin/retention", "").at("rules"))
	require.Empty(t, s.visit(200, "POST /admin/retention/plan", "").at("steps"))
	rules := `{"rules": [{"kind": "flow_runs", "states": ["FAILED"], "max_age": 86400}, {"kind": "logs", "max_age": "P30D"}]}`
	s.visit(200, "POST /admin/retention/plan", rules)
	require.Len(t, s.visit(200, "PUT /admin/retention", rules).at("rules"), 2)
	require.Equal(t, true, s.visit(200, "POST /admin/retention/run", "").at("complete"))
	s.visit(422, "PUT /admin/retention", `{"rules": [{"kind": "logs", "max_age": 1}]}`)
	s.visit(200, "PUT /admin/retention", `{"rules": []}`)
}

// walkRunTimeouts sets timeouts of runs, and removes them.
func (s *server) walkRunTimeouts() {
	t := s.t
	require.Empty(t, s.visit(200, "GET /admin/run_timeouts", "").at("rules"))
	rules := `{"rules": [{"pending_timeout": "PT15M", "on_pending_timeout": "CRASH"}, {"deployment_id": "` + uuid.NewString() + `", "missed_heartbeats": 5}]}`
	require.Len(t, s.visit(200, "PUT /admin/run_timeouts", rules).at("rules"), 2)
	s.visit(422, "PUT /admin/run_timeouts", `{"rules": [{"heartbeat_interval": 1}]}`)
	s.visit(422, "PUT /admin/run_timeouts", `{"rules": [{"missed_heartbeats": "many"}]}`)
	s.visit(422, "PUT /admin/run_timeouts", `{"rules": [{"on_missed_heartbeats": "WAIT"}]}`)
	s.visit(200, "PUT /admin/run_timeouts", `{"rules": []}`)
}

// walkDestinations creates, changes and deletes a destination, and reads its deliveries.
func (s *server) walkDestinations() {
	t := s.t
	created := s.visit(201, "POST /v2/destinations/", `{"name": "warehouse", "url": "https://example.com/events", "headers": {"X-Key": "topsecret"},
		"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "subscriptions": [{"events": ["order.*"]}]}`)
	id := created.text("id")
	require.NotContains(t, string(created.body), "topsecret")
	require.Equal(t, true, created.at("signed"))
	require.Equal(t, "healthy", created.text("health.status"))
	s.visit(409, "POST /v2/destinations/", `{"name": "warehouse", "url": "https://example.com"}`)
	s.visit(422, "POST /v2/destinations/", `{"name": "other", "url": "ftp://example.com"}`)
	s.visit(422, "POST /v2/destinations/", `{"name": "other", "url": "https://example.com", "subscriptions": [{"events": []}]}`)
	s.visit(204, "PATCH /v2/destinations/{id}", `{"enabled": false, "rate_limit": 10}`, id)
	s.visit(422, "PATCH /v2/destinations/{id}", `{"rate_limit": 0}`, id)
	require.Equal(t, false, s.visit(200, "GET /v2/destinations/{id}", "", id).at("enabled"))
	require.Equal(t, id, s.visit(200, "POST /v2/destinations/filter", `{"destinations": {"enabled": {"eq_": false}}}`).text("0.id"))
	require.EqualValues(t, 1, s.visit(200, "POST /v2/destinations/count", "").at(""))
	require.Empty(t, s.visit(200, "POST /v2/destinations/{id}/deliveries/filter", `{"destination_deliveries": {"state": {"any_": ["failed"]}}}`, id).at(""))
	s.visit(404, "GET /v2/destinations/{id}/deliveries/{delivery_id}", "", id, uuid.NewString())
	require.EqualValues(t, 0, s.visit(200, "POST /v2/destinations/{id}/deliveries/resend", "", id).at("resent"))
	s.visit(204, "DELETE /v2/destinations/{id}", "", id)
	s.visit(404, "GET /v2/destinations/{id}", "", id)
}

// walkEventTypes sends an event, and reads and deletes its event type.
func (s *server) walkEventTypes() {
	t := s.t
	s.visit(204, "POST /events", `[{"event": "order.paid", "occurred": "2026-01-02T03:04:05Z", "id": "`+uuid.NewString()+`",
		"resource": {"orch.resource.id": "order.1"}, "payload": {"total": 1.5}}]`)
	id := s.eventType(t, "order.paid")
	require.Equal(t, "order.paid", s.visit(200, "GET /v2/event_types/{id}", "", id).text("name"))
	require.EqualValues(t, 1, s.visit(200, "POST /v2/event_types/count", `{"event_types": {"name": {"any_": ["order.paid"]}}}`).at(""))
	s.visit(422, "POST /v2/event_types/filter", `{"event_types": {"title": {}}}`)
	require.Equal(t, "3.0.0", s.visit(200, "GET /v2/event_types/asyncapi", "").text("asyncapi"))
	pinned := s.visit(200, "PUT /v2/event_types/{id}/pin", `{"schema": {"required": ["id"]}}`, id)
	require.Equal(t, []any{"id"}, pinned.at("pinned_schema.required"))
	require.EqualValues(t, 0, pinned.at("violations"))
	s.visit(422, "PUT /v2/event_types/{id}/pin", `{"schema": {"type": "date"}}`, id)
	s.visit(204, "DELETE /v2/event_types/{id}/pin", "", id)
	s.visit(204, "DELETE /v2/event_types/{id}", "", id)
	s.visit(404, "GET /v2/event_types/{id}", "", id)
	s.visit(404, "DELETE /v2/event_types/{id}", "", id)
}

// eventType returns the id of an event type whose event was sent.
func (s *server) eventType(t *testing.T, name string) string {
	t.Helper()
	var found answer
	require.Eventually(t, func() bool {
		found = s.visit(200, "POST /v2/event_types/filter", `{"event_types": {"name": {"any_": ["`+name+`"]}}}`)
		return strings.HasPrefix(string(found.body), "[{")
	}, time.Minute, 20*time.Millisecond)
	return found.text("0.id")
}

func (s *server) flow(name string) string {
	return s.visit(201, "POST /flows/", `{"name": "`+name+`"}`).text("id")
}

func (s *server) walkFlows() {
	t := s.t
	id := s.visit(201, "POST /flows/", `{"name": "etl", "tags": ["a"], "labels": {"n": 1, "b": true, "x": 1.5, "s": "t"}}`).text("id")
	require.Equal(t, id, s.visit(200, "POST /flows/", `{"name": "etl"}`).text("id"))
	require.Equal(t, "etl", s.visit(200, "GET /flows/{id}", "", id).text("name"))
	require.Equal(t, id, s.visit(200, "GET /flows/name/{name}", "", "etl").text("id"))
	s.visit(204, "PATCH /flows/{id}", `{"tags": ["b"]}`, id)
	require.Equal(t, id, s.visit(200, "POST /flows/filter", `{"flows": {"tags": {"all_": ["b"]}}}`).text("0.id"))
	require.EqualValues(t, 1, s.visit(200, "POST /flows/count", ``).at(""))
	require.EqualValues(t, 1, s.visit(200, "POST /flows/paginate", `{"limit": 5}`).at("count"))
	require.Equal(t, id, s.visit(200, "GET /flows/?limit=1&offset=0", "").text("0.id"))
	own := uuid.NewString()
	s.visit(201, "PUT /flows/{id}", `{"name": "mine"}`, own)
	require.Empty(t, s.visit(200, "PUT /flows/{id}", `{"name": "mine"}`, own).at("tags"))
	s.visit(204, "DELETE /flows/{id}", "", own)
	s.visit(404, "GET /flows/{id}", "", own)
	s.visit(201, "PUT /flows/{id}", `{"name": "mine"}`, own)
	require.Equal(t, own, s.visit(200, "POST /flows/bulk_delete", `{"flows": {"name": {"any_": ["mine"]}}}`).text("deleted.0"))
}

func (s *server) walkFlowRuns() {
	t := s.t
	flow := s.flow("runs")
	create := `{"flow_id": "` + flow + `", "name": "r", "idempotency_key": "k", "parameters": {"x": 1}}`
	id := s.visit(201, "POST /flow_runs/", create).text("id")
	require.Equal(t, id, s.visit(200, "POST /flow_runs/", create).text("id"))
	require.Equal(t, "PENDING", s.visit(200, "GET /flow_runs/{id}", "", id).text("state_type"))
	s.visit(204, "PATCH /flow_runs/{id}", `{"name": "renamed", "tags": ["t"]}`, id)
	s.visit(204, "PATCH /flow_runs/{id}/labels", `{"team": "x"}`, id)
	require.Equal(t, "x", s.visit(200, "GET /flow_runs/{id}", "", id).text("labels.team"))
	require.Equal(t, "ACCEPT", s.visit(201, "POST /flow_runs/{id}/set_state", `{"state": {"type": "RUNNING"}}`, id).text("status"))
	require.Equal(t, "ABORT", s.visit(200, "POST /flow_runs/{id}/set_state", `{"state": {"type": "PENDING"}}`, id).text("status"))
	require.Equal(t, "ABORT", s.visit(200, "POST /flow_runs/{id}/resume", ``, id).text("status"))
	s.visit(201, "POST /flow_runs/{id}/set_state", `{"state": {"type": "PAUSED", "state_details": {"pause_timeout": "`+later+`", "pause_key": "1"}}}`, id)
	require.Equal(t, "ACCEPT", s.visit(201, "POST /flow_runs/{id}/resume", `{"run_input": {}}`, id).text("status"))
	require.Equal(t, "Running", s.visit(200, "GET /flow_runs/{id}", "", id).text("state_name"))
	state := s.visit(200, "GET /flow_run_states/?flow_run_id="+id, "").text("0.id")
	require.Equal(t, "PENDING", s.visit(200, "GET /flow_run_states/{id}", "", state).text("type"))

	require.Equal(t, id, s.visit(200, "POST /flow_runs/filter", `{"flow_runs": {"state": {"type": {"any_": ["RUNNING"]}}}, "sort": "START_TIME_DESC"}`).text("0.id"))
	require.EqualValues(t, 1, s.visit(200, "POST /flow_runs/count", `{"flows": {"name": {"like_": "UN"}}}`).at(""))
	require.EqualValues(t, 1, s.visit(200, "POST /flow_runs/paginate", `{"page": 1}`).at("pages"))
	require.Equal(t, id, s.visit(200, "GET /flow_runs/?limit=1", "").text("0.id"))
	span := fmt.Sprintf(`{"history_start": "%s", "history_end": "%s", "history_interval_seconds": 60}`, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339), time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	s.visit(200, "POST /flow_runs/history", span)
	s.visit(200, "POST /flow_runs/lateness", ``)
	s.visit(200, "POST /task_runs/history", span)

	s.visit(200, "GET /flow_runs/{id}/logs/download", "", id)
	other := s.visit(201, "POST /flow_runs/", `{"flow_id": "`+flow+`", "state": {"type": "SCHEDULED"}}`).text("id")
	bulk := s.visit(200, "POST /flow_runs/bulk_set_state", `{"flow_runs": {"id": {"any_": ["`+other+`"]}}, "state": {"type": "CANCELLED"}, "force": true}`)
	require.Equal(t, "ACCEPT", bulk.text("results.0.status"))
	s.visit(200, "POST /flow_runs/bulk_delete", `{"flow_runs": {"id": {"any_": ["`+other+`"]}}}`)
	s.visit(404, "GET /flow_runs/{id}", "", other)
	s.visit(204, "DELETE /flow_runs/{id}", "", id)
	s.visit(404, "POST /flow_runs/{id}/set_state", `{"state": {"type": "RUNNING"}}`, id)
}

func (s *server) running() string {
	flow := s.ask("POST /flows/", `{"name": "runs"}`).text("id")
	id := s.visit(201, "POST /flow_runs/", `{"flow_id": "`+flow+`"}`).text("id")
	s.visit(201, "POST /flow_runs/{id}/set_state", `{"state": {"type": "RUNNING"}}`, id)
	return id
}

func (s *server) walkTaskRuns() {
	t := s.t
	flowRun := s.running()
	create := `{"flow_run_id": "` + flowRun + `", "task_key": "t", "dynamic_key": "0", "name": "first", "tags": ["x"]}`
	id := s.visit(201, "POST /task_runs/", create).text("id")
	require.Equal(t, id, s.visit(200, "POST /task_runs/", create).text("id"))
	next := s.visit(201, "POST /task_runs/", `{"flow_run_id": "`+flowRun+`", "task_key": "t", "dynamic_key": "1",
		"task_inputs": {"a": [{"input_type": "task_run", "id": "`+id+`"}, {"input_type": "constant", "type": "int"}]}}`).text("id")
	s.visit(201, "POST /task_runs/{id}/set_state", `{"state": {"type": "RUNNING"}}`, id)
	s.visit(201, "POST /task_runs/{id}/set_state", `{"state": {"type": "COMPLETED", "data": {"type": "reference"}}}`, id)
	require.Equal(t, "REJECT", s.visit(200, "POST /task_runs/{id}/set_state", `{"state": {"type": "RUNNING"}}`, id).text("status"))
	require.Equal(t, "COMPLETED", s.visit(200, "GET /task_runs/{id}", "", id).text("state_type"))
	s.visit(204, "PATCH /task_runs/{id}", `{"name": "renamed"}`, id)
	require.Equal(t, id, s.visit(200, "POST /task_runs/filter", `{"task_runs": {"name": {"any_": ["renamed"]}}}`).text("0.id"))
	require.EqualValues(t, 2, s.visit(200, "POST /task_runs/count", `{"flow_runs": {"id": {"any_": ["`+flowRun+`"]}}}`).at(""))
	s.visit(200, "POST /task_runs/paginate", `{"limit": 1, "page": 2}`)
	s.visit(200, "GET /task_runs/?limit=10", "")
	state := s.visit(200, "GET /task_run_states/?task_run_id="+id, "").text("2.id")
	require.Equal(t, "COMPLETED", s.visit(200, "GET /task_run_states/{id}", "", state).text("type"))

	require.Equal(t, id, s.visit(200, "GET /flow_runs/{id}/graph", "", flowRun).text("1.upstream_dependencies.0.id"))
	graph := s.visit(200, "GET /flow_runs/{id}/graph-v2", "", flowRun)
	require.Equal(t, []any{id}, graph.at("root_node_ids"))
	require.Equal(t, next, graph.text("nodes.0.0"), "it was to start before the other did")
	require.Equal(t, id, graph.text("nodes.0.1.parents.0.id"))
	since := url.QueryEscape(later)
	require.Equal(t, next, s.visit(200, "GET /flow_runs/{id}/graph-v2?since="+since, "", flowRun).text("nodes.0.0"), "what has ended is left out")
	s.visit(422, "GET /flow_runs/{id}/graph-v2?since=yesterday", "", flowRun)

	require.Equal(t, "renamed", s.visit(200, "GET /ui/task_runs/{id}", "", id).text("name"))
	require.EqualValues(t, 1, s.visit(200, "POST /ui/task_runs/count", ``).at("COMPLETED"))
	before := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	require.EqualValues(t, 0, s.visit(200, "POST /ui/task_runs/dashboard/counts", `{"task_runs": {"start_time": {"after_": "`+before+`"}}}`).at("0.failed"))
	require.Equal(t, "task_runs.start_time.after_ is required", s.visit(422, "POST /ui/task_runs/dashboard/counts", `{"task_runs": {}}`).text("detail"))
	require.EqualValues(t, 2, s.visit(200, "POST /ui/flow_runs/count-task-runs", `{"flow_run_ids": ["`+flowRun+`"]}`).at(flowRun))
	s.visit(204, "DELETE /task_runs/{id}", "", next)
	s.visit(404, "GET /task_runs/{id}", "", next)
}

func (s *server) walkInputs() {
	t := s.t
	run := s.running()
	s.visit(201, "POST /flow_runs/{id}/input", `{"key": "greeting", "value": "hello", "sender": null}`, run)
	s.visit(409, "POST /flow_runs/{id}/input", `{"key": "greeting", "value": "again"}`, run)
	require.Equal(t, "hello", string(s.visit(200, "GET /flow_runs/{id}/input/{key}", "", run, "greeting").body))
	require.Equal(t, "greeting", s.visit(200, "POST /flow_runs/{id}/input/filter", `{"prefix": "gr"}`, run).text("0.key"))
	s.visit(204, "DELETE /flow_runs/{id}/input/{key}", "", run, "greeting")
	s.visit(404, "DELETE /flow_runs/{id}/input/{key}", "", run, "greeting")
	s.visit(404, "POST /flow_runs/{id}/input", `{"key": "k", "value": "v"}`, uuid.NewString())
}

func (s *server) walkDeployments() {
	t := s.t
	flow := s.flow("deployed")
	create := `{"name": "d", "flow_id": "` + flow + `", "tags": ["a"], "concurrency_limit": 2,
		"parameter_openapi_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
		"schedules": [{"schedule": {"interval": 3600}, "slug": "hourly"}, {"schedule": {"cron": "0 5 * * *", "timezone": "Europe/Berlin"}, "active": false}]}`
	created := s.visit(201, "POST /deployments/", create)
	id := created.text("id")
	s.visit(200, "POST /deployments/", create)
	require.EqualValues(t, 2, s.visit(200, "GET /deployments/{id}", "", id).at("global_concurrency_limit.limit"))
	require.Equal(t, id, s.visit(200, "GET /deployments/name/{flow_name}/{deployment_name}", "", "deployed", "d").text("id"))
	s.visit(204, "PATCH /deployments/{id}", `{"description": "mine"}`, id)
	require.Equal(t, id, s.visit(200, "POST /deployments/filter", `{"deployments": {"name": {"any_": ["d"]}}, "sort": "NAME_ASC"}`).text("0.id"))
	require.EqualValues(t, 1, s.visit(200, "POST /deployments/count", ``).at(""))
	require.EqualValues(t, 1, s.visit(200, "POST /deployments/paginate", ``).at("count"))
	require.Equal(t, id, s.visit(200, "GET /deployments/", "").text("0.id"))
	require.Empty(t, s.visit(200, "GET /deployments/{id}/work_queue_check", "", id).at(""))
	s.visit(404, "GET /deployments/{id}/work_queue_check", "", uuid.NewString())

	schedules := s.visit(200, "GET /deployments/{id}/schedules", "", id)
	require.Len(t, schedules.at(""), 2)
	added := s.visit(201, "POST /deployments/{id}/schedules", `[{"schedule": {"rrule": "FREQ=DAILY"}, "active": true}]`, id).text("0.id")
	s.visit(204, "PATCH /deployments/{id}/schedules/{schedule_id}", `{"active": false}`, id, added)
	s.visit(204, "DELETE /deployments/{id}/schedules/{schedule_id}", "", id, added)
	s.visit(404, "DELETE /deployments/{id}/schedules/{schedule_id}", "", id, added)
	s.visit(200, "POST /deployments/{id}/schedule", `{"min_runs": 1, "min_time": 1}`, id)
	s.visit(200, "POST /deployments/{id}/pause_deployment", "", id)
	require.Equal(t, true, s.visit(200, "GET /deployments/{id}", "", id).at("paused"))
	s.visit(200, "POST /deployments/{id}/resume_deployment", "", id)

	run := s.visit(201, "POST /deployments/{id}/create_flow_run", `{"parameters": {"n": 3}}`, id)
	require.Equal(t, "SCHEDULED", run.text("state_type"))
	s.visit(422, "POST /deployments/{id}/create_flow_run", ``, id)
	s.visit(201, "POST /deployments/{id}/create_flow_run", `{}`, id)
	require.Contains(t, s.visit(409, "POST /deployments/{id}/create_flow_run", `{"parameters": {"n": "x"}}`, id).text("detail"), "Validation failed for field 'n'")
	s.visit(404, "POST /deployments/{id}/create_flow_run", `{}`, uuid.NewString())
	require.Equal(t, "CREATED", s.visit(200, "POST /deployments/{id}/create_flow_run/bulk", `[{}, {"name": "b"}]`, id).text("results.1.status"))
	require.Equal(t, run.text("id"), s.visit(200, "POST /deployments/get_scheduled_flow_runs", `{"deployment_ids": ["`+id+`"], "scheduled_before": "`+later+`"}`).text("0.id"))
	require.Equal(t, run.text("id"), s.visit(200, "POST /ui/flows/next-runs", `{"flow_ids": ["`+flow+`"]}`).text(flow+".id"))
	require.EqualValues(t, 1, s.visit(200, "POST /ui/flows/count-deployments", `{"flow_ids": ["`+flow+`"]}`).at(flow))

	own := uuid.NewString()
	s.visit(201, "PUT /deployments/{id}", `{"name": "mine", "flow_id": "`+flow+`"}`, own)
	s.visit(200, "PUT /deployments/{id}", `{"name": "mine", "flow_id": "`+flow+`"}`, own)
	require.Equal(t, own, s.visit(200, "POST /deployments/bulk_delete", `{"deployments": {"name": {"any_": ["mine"]}}}`).text("deleted.0"))
	s.visit(204, "DELETE /deployments/{id}", "", id)
	s.visit(404, "GET /deployments/{id}", "", id)
}

func (s *server) walkBackfills() {
	t := s.t
	deployment := s.visit(201, "POST /deployments/", `{"name": "filled", "flow_id": "`+s.flow("filled")+`",
		"parameter_openapi_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}, "schedules": [{"schedule": {"cron": "0 * * * *"}}]}`)
	request := func(span string) string { return `{"deployment_id": "` + deployment.text("id") + `", ` + span + `}` }
	const week = `"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-08T00:00:00Z"`
	created := s.visit(201, "POST /v2/backfills/", request(week+`, "max_parallel_runs": 3, "parameters": {"n": 1}`))
	id := created.text("id")
	require.EqualValues(t, 169, created.at("total_runs"))
	s.visit(422, "POST /v2/backfills/", request(week+`, "max_parallel_runs": 101`))
	s.visit(409, "POST /v2/backfills/", request(week+`, "parameters": {"n": "many"}`))
	century := s.visit(422, "POST /v2/backfills/", request(`"start_time": "1926-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:00Z"`))
	require.Contains(t, century.text("exception_detail.0.msg"), "more than 10000 times")
	s.visit(422, "POST /v2/backfills/", request(`"start_time": "2026-01-01T00:00:00Z", "end_time": "`+later+`"`))
	s.visit(404, "POST /v2/backfills/", request(week+`, "schedule_id": "`+uuid.NewString()+`"`))
	require.Equal(t, id, s.visit(200, "POST /v2/backfills/filter", `{"deployment_id": "`+deployment.text("id")+`"}`).text("0.id"))
	require.Empty(t, s.visit(200, "POST /v2/backfills/filter", `{"deployment_id": "`+uuid.NewString()+`"}`).at(""))
	require.Equal(t, "PAUSED", s.visit(200, "POST /v2/backfills/{id}/pause", "", id).text("state"))
	require.Equal(t, "RUNNING", s.visit(200, "POST /v2/backfills/{id}/resume", "", id).text("state"))
	s.visit(409, "DELETE /v2/backfills/{id}", "", id)
	require.Equal(t, "CANCELLED", s.visit(200, "POST /v2/backfills/{id}/cancel", "", id).text("state"))
	s.visit(409, "POST /v2/backfills/{id}/resume", "", id)
	s.visit(200, "GET /v2/backfills/{id}", "", id)
	require.Eventually(t, func() bool { return s.ask("DELETE /v2/backfills/{id}", "", id).status == 204 }, time.Minute, 10*time.Millisecond,
		"a pass cancels its runs first")
	s.visit(404, "GET /v2/backfills/{id}", "", uuid.NewString())
}

func (s *server) walkArtifacts() {
	t := s.t
	id := s.visit(201, "POST /artifacts/", `{"key": "report", "type": "markdown", "data": "# x", "flow_run_id": "`+s.running()+`"}`).text("id")
	require.Equal(t, "report", s.visit(200, "GET /artifacts/{id}", "", id).text("key"))
	s.visit(204, "PATCH /artifacts/{id}", `{"description": "mine"}`, id)
	require.Equal(t, id, s.visit(200, "GET /artifacts/{key}/latest", "", "report").text("id"))
	require.Equal(t, id, s.visit(200, "POST /artifacts/filter", `{"artifacts": {"key": {"like_": "rep"}}}`).text("0.id"))
	require.EqualValues(t, 1, s.visit(200, "POST /artifacts/count", ``).at(""))
	require.Equal(t, id, s.visit(200, "POST /artifacts/latest/filter", ``).text("0.latest_id"))
	require.EqualValues(t, 1, s.visit(200, "POST /artifacts/latest/count", ``).at(""))
	require.Equal(t, id, s.visit(200, "GET /artifacts/", "").text("0.id"))
	own := uuid.NewString()
	s.visit(201, "PUT /artifacts/{id}", `{"key": "own", "data": {"a": [1]}}`, own)
	s.visit(200, "PUT /artifacts/{id}", `{"key": "own"}`, own)
	s.visit(204, "DELETE /artifacts/{id}", "", own)
	s.visit(404, "GET /artifacts/{key}/latest", "", "own")
}

func (s *server) walkVariables() {
	t := s.t
	id := s.visit(201, "POST /variables/", `{"name": "answer", "value": {"n": 42}, "tags": ["a"]}`).text("id")
	s.visit(409, "POST /variables/", `{"name": "answer", "value": 1}`)
	require.EqualValues(t, 42, s.visit(200, "GET /variables/{id}", "", id).at("value.n"))
	require.Equal(t, id, s.visit(200, "GET /variables/name/{name}", "", "answer").text("id"))
	s.visit(204, "PATCH /variables/{id}", `{"value": [1, null]}`, id)
	s.visit(204, "PATCH /variables/name/{name}", `{"tags": []}`, "answer")
	require.Equal(t, id, s.visit(200, "POST /variables/filter", `{"variables": {"name": {"like_": "swer"}}}`).text("0.id"))
	require.EqualValues(t, 1, s.visit(200, "POST /variables/count", ``).at(""))
	require.Equal(t, id, s.visit(200, "GET /variables/?limit=3", "").text("0.id"))
	own := uuid.NewString()
	s.visit(201, "PUT /variables/{id}", `{"name": "own", "value": null}`, own)
	s.visit(200, "PUT /variables/{id}", `{"name": "own", "value": "x"}`, own)
	s.visit(204, "DELETE /variables/name/{name}", "", "own")
	s.visit(204, "DELETE /variables/{id}", "", id)
	s.visit(404, "GET /variables/name/{name}", "", "answer")
}

func (s *server) walkSearches() {
	t := s.t
	id := s.visit(201, "PUT /saved_searches/", `{"name": "mine", "filters": [{"object": "flow_run", "property": "name", "type": "string", "operation": "equals", "value": "x"}]}`).text("id")
	s.visit(200, "PUT /saved_searches/", `{"name": "mine"}`)
	require.Equal(t, "mine", s.visit(200, "GET /saved_searches/{id}", "", id).text("name"))
	require.Equal(t, id, s.visit(200, "POST /saved_searches/filter", ``).text("0.id"))
	s.visit(204, "DELETE /saved_searches/{id}", "", id)
	s.visit(404, "GET /saved_searches/{id}", "", id)
	s.visit(200, "POST /assets/filter", ``)
	s.visit(404, "DELETE /assets/key?key=s3://bucket/a.csv", "")
}

func (s *server) walkLimits() {
	t := s.t
	id := s.visit(201, "POST /v2/concurrency_limits/", `{"name": "db", "limit": 1}`).text("id")
	s.visit(409, "POST /v2/concurrency_limits/", `{"name": "db", "limit": 1}`)
	require.Equal(t, id, s.visit(200, "GET /v2/concurrency_limits/{id_or_name}", "", "db").text("id"))
	s.visit(204, "PATCH /v2/concurrency_limits/{id_or_name}", `{"slot_decay_per_second": 0}`, id)
	s.visit(200, "POST /v2/concurrency_limits/filter", ``)
	require.Equal(t, id, s.visit(200, "POST /v2/concurrency_limits/increment", `{"names": ["db", "unknown"], "slots": 1}`).text("0.id"))
	full := s.visit(423, "POST /v2/concurrency_limits/increment", `{"names": ["db"], "slots": 1}`)
	require.Equal(t, "Locked", full.text("detail"))
	require.Regexp(t, `^\d+(\.\d+)?$`, full.header.Get("Retry-After"))
	s.visit(422, "POST /v2/concurrency_limits/increment", `{"names": ["db"], "slots": 2}`)
	s.visit(422, "POST /v2/concurrency_limits/increment", `{"names": ["db"], "slots": 1, "mode": "rate_limit"}`)
	require.Empty(t, s.visit(200, "POST /v2/concurrency_limits/increment", `{"names": ["unknown"], "slots": 1}`).at(""))
	s.visit(200, "POST /v2/concurrency_limits/decrement", `{"names": ["db"], "slots": 1, "occupancy_seconds": 0.5}`)
	require.EqualValues(t, 1, s.visit(200, "GET /v2/concurrency_limits/{id_or_name}/slots", "", "db").at("waiter_count"))
	s.visit(204, "DELETE /v2/concurrency_limits/{id_or_name}", "", "db") // The slot is reserved for the request that was refused.
	id = s.visit(201, "POST /v2/concurrency_limits/", `{"name": "db", "limit": 1}`).text("id")
	lease := s.visit(200, "POST /v2/concurrency_limits/increment-with-lease", `{"names": ["db"], "slots": 1, "lease_duration": 60,
		"holder": {"type": "task_run", "id": "`+uuid.NewString()+`"}}`).text("lease_id")
	s.visit(204, "POST /v2/concurrency_limits/leases/{lease_id}/renew", `{"lease_duration": 90}`, lease)
	s.visit(204, "POST /v2/concurrency_limits/decrement-with-lease", `{"lease_id": "`+lease+`"}`)
	s.visit(204, "POST /v2/concurrency_limits/decrement-with-lease", `{"lease_id": "`+lease+`"}`)
	s.visit(410, "POST /v2/concurrency_limits/leases/{lease_id}/renew", `{"lease_duration": 90}`, lease)
	s.visit(204, "DELETE /v2/concurrency_limits/{id_or_name}", "", "db")
	s.visit(404, "GET /v2/concurrency_limits/{id_or_name}", "", id)
}

func (s *server) walkTagLimits() {
	t := s.t
	id := s.visit(201, "POST /concurrency_limits/", `{"tag": "big", "concurrency_limit": 1}`).text("id")
	s.visit(200, "POST /concurrency_limits/", `{"tag": "big", "concurrency_limit": 1}`)
	require.Equal(t, "big", s.visit(200, "GET /concurrency_limits/{id}", "", id).text("tag"))
	holder, other := uuid.NewString(), uuid.NewString()
	s.visit(200, "POST /concurrency_limits/increment", `{"names": ["big"], "task_run_id": "`+holder+`"}`)
	require.NotEmpty(t, s.visit(423, "POST /concurrency_limits/increment", `{"names": ["big"], "task_run_id": "`+other+`"}`).header.Get("Retry-After"))
	require.Equal(t, []any{holder}, s.visit(200, "GET /concurrency_limits/tag/{tag}", "", "big").at("active_slots"))
	s.visit(200, "POST /concurrency_limits/decrement", `{"names": ["big"], "task_run_id": "`+holder+`"}`)
	s.visit(200, "POST /concurrency_limits/tag/{tag}/reset", `{"slot_override": ["`+other+`"]}`, "big")
	require.Equal(t, other, s.visit(200, "POST /concurrency_limits/filter", ``).text("0.active_slots.0"))
	s.visit(200, "DELETE /concurrency_limits/tag/{tag}", "", "big")
	id = s.visit(201, "POST /concurrency_limits/", `{"tag": "big", "concurrency_limit": 1}`).text("id")
	s.visit(200, "DELETE /concurrency_limits/{id}", "", id)
	s.visit(404, "GET /concurrency_limits/tag/{tag}", "", "big")
}

func (s *server) walkInterface() {
	t := s.t
	require.Len(t, s.visit(200, "POST /ui/flow_runs/history", `{"limit": 2}`).at(""), 2)
	now := time.Now().UTC()
	window := fmt.Sprintf(`{"start": %q, "end": %q}`, now.Add(-time.Hour).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339))
	require.NotEmpty(t, s.visit(200, "POST /ui/flow_runs/scatter", window).at("cells"))
	times := s.visit(200, "POST /ui/schedules/preview", `{"schedule": {"cron": "0 9 * * *"}, "n": 2}`)
	require.Len(t, times.at("times"), 2)
	s.visit(422, "POST /ui/schedules/preview", `{"schedule": {"cron": "60 9 * * *"}}`)
	form := s.visit(200, "POST /ui/schemas/validate", `{"schema": {"properties": {"n": {"type": "integer"}}}, "values": {"n": "x"}}`)
	require.Equal(t, false, form.at("valid"))
	require.Equal(t, "n", form.text("errors.0.property"))
	s.visit(422, "POST /ui/schemas/validate", `{"schema": {"type": "no such type"}, "values": {}}`)
}
