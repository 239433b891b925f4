package rest_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// exampleObjects maps the last two digits of an example's UUID to the fixture that it stands for.
var exampleObjects = map[string]string{
	"01": "flow", "02": "flow run", "03": "task run", "04": "deployment", "05": "schedule", "06": "artifact",
	"07": "automation", "08": "block type", "09": "block schema", "10": "block document", "11": "variable", "12": "webhook",
	"13": "delivery", "14": "limit", "15": "lease", "16": "tag limit", "17": "user", "18": "service account", "19": "team",
	"20": "workspace role", "21": "workspace", "22": "account", "23": "membership", "24": "account role", "25": "new id", "26": "new id",
}

// pathObjects maps path variables to fixtures: "operation variable" before "collection variable" before "variable".
var pathObjects = map[string]string{
	"account_id":                   "account",
	"artifacts id":                 "artifact",
	"automations id":               "automation",
	"block_documents id":           "block document",
	"block_types id":               "block type",
	"bots id":                      "service account",
	"countable":                    "countable",
	"delivery_id":                  "delivery",
	"sample_id":                    "sample",
	"deployments id":               "deployment",
	"v2 id":                        "destination",
	"read_backfill id":             "backfill",
	"pause_backfill id":            "backfill",
	"resume_backfill id":           "backfill",
	"cancel_backfill id":           "backfill",
	"delete_backfill id":           "backfill",
	"read_event_type id":           "event type",
	"delete_event_type id":         "event type",
	"pin_event_type id":            "event type",
	"unpin_event_type id":          "event type",
	"flow_runs id":                 "flow run",
	"flows id":                     "flow",
	"id_or_name":                   "limit",
	"account_memberships id":       "membership",
	"lease_id":                     "lease",
	"replace_artifact id":          "new id",
	"replace_deployment id":        "new id",
	"replace_flow id":              "new id",
	"replace_variable id":          "new id",
	"resume_flow_run id":           "paused flow run",
	"schedule_id":                  "schedule",
	"tag":                          "tag",
	"task_runs id":                 "task run",
	"teams id":                     "team",
	"update_variable_by_name name": "variable name",
	"user_id":                      "caller",
	"users id":                     "caller",
	"variables id":                 "variable",
	"webhooks id":                  "webhook",
	"workspace_roles id":           "workspace role",
	"workspaces id":                "workspace",
	"work_pool_name":               "work pool",
	"work_pools name":              "work pool",
	"update_work_pool_queue name":  "queue name",
	"work_queues id":               "work queue",
}

// fixtures creates the objects that examples name, each once per example.
type fixtures struct {
	t      *testing.T
	s      *server
	made   map[string]string
	create map[string]func() string
	count  int
}

func newFixtures(s *server) *fixtures {
	f := &fixtures{t: s.t, s: s, made: map[string]string{}}
	account := "/accounts/{account}"
	f.create = map[string]func() string{
		"new id":    uuid.NewString,
		"countable": func() string { return "event" },
		"caller":    func() string { return f.read("/me/", "id") },
		"account":   func() string { return f.read("/me/workspaces", "0.account_id") },

		"flow":            f.post("/flows/", `{"name": "{name}"}`, "id"),
		"flow run":        f.post("/flow_runs/", `{"flow_id": "{flow}", "state": {"type": "PENDING"}}`, "id"),
		"task run":        f.post("/task_runs/", `{"flow_run_id": "{flow run}", "task_key": "{name}", "dynamic_key": "0", "state": {"type": "PENDING"}}`, "id"),
		"paused flow run": f.post("/flow_runs/", `{"flow_id": "{flow}", "state": {"type": "PAUSED"}}`, "id"),
		"deployment":      f.post("/deployments/", `{"name": "{name}", "flow_id": "{flow}"}`, "id"),
		"schedule":        f.post("/deployments/{deployment}/schedules", `[{"schedule": {"interval": 3600}}]`, "0.id"),
		"artifact":        f.post("/artifacts/", `{"key": "{name}", "data": 1}`, "id"),
		"variable":        f.post("/variables/", `{"name": "{name}", "value": 1}`, "id"),
		"variable name":   func() string { return f.read("/variables/"+f.get("variable"), "name") },
		"limit":           f.post("/v2/concurrency_limits/", `{"name": "{name}", "limit": 5}`, "id"),
		"lease":           f.post("/v2/concurrency_limits/increment-with-lease", `{"names": ["{name}"], "slots": 1}`, "lease_id"),
		"tag":             f.post("/concurrency_limits/", `{"tag": "{name}", "concurrency_limit": 5}`, "tag"),
		"backfill": f.post("/v2/backfills/",
			`{"deployment_id": "{deployment}", "schedule_id": "{schedule}", "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-02T00:00:00Z"}`, "id"),
		"event type":  f.eventType,
		"destination": f.post("/v2/destinations/", `{"name": "{name}", "url": "https://example.com"}`, "id"),
		"webhook":     f.post("/webhooks/", `{"name": "{name}", "template": "{}"}`, "id"),
		"sample":      f.post("/webhooks/{webhook}/samples", `{"name": "{name}", "request": {"body": {"a": 1}}}`, "id"),
		"automation": f.post("/automations/", `{"name": "{name}", "actions": [{"type": "do-nothing"}],
			"trigger": {"type": "event", "posture": "Reactive"}}`, "id"),
		"block type": f.post("/block_types/", `{"name": "{name}", "slug": "{name}"}`, "id"),
		"block schema": f.post("/block_schemas/", `{"block_type_id": "{block type}", "capabilities": ["read-path", "write-path"],
			"fields": {"title": "{name}", "type": "object", "properties": {"user": {"type": "string"}}}}`, "id"),
		"block document": f.post("/block_documents/", `{"name": "{name}", "block_type_id": "{block type}",
			"block_schema_id": "{block schema}", "data": {}}`, "id"),

		"work pool":  f.post("/work_pools/", `{"name": "{name}", "type": "process"}`, "name"),
		"queue name": f.post("/work_pools/{work pool}/queues", `{"name": "{name}"}`, "name"),
		"work queue": f.post("/work_pools/{work pool}/queues", `{"name": "{name}"}`, "id"),

		"membership":      f.post(account+"/account_memberships/", `{"email": "{name}@example.com"}`, "id"),
		"user":            f.post(account+"/account_memberships/", `{"email": "{name}@example.com"}`, "user_id"),
		"service account": f.post(account+"/bots/", `{"name": "{name}"}`, "id"),
		"team":            f.post(account+"/teams/", `{"name": "{name}"}`, "id"),
		"workspace role":  f.post(account+"/workspace_roles/", `{"name": "{name}"}`, "id"),
		"workspace":       f.post(account+"/workspaces/", `{"name": "{name}"}`, "id"),
		"account role":    f.post(account+"/account_roles/filter", `{"account_roles": {"name": {"any_": ["Member"]}}}`, "0.id"),
	}
	f.create["delivery"] = f.delivery
	return f
}

// eventType sends an event, and returns the id of the event type that the event begins.
func (f *fixtures) eventType() string {
	f.t.Helper()
	name := f.expand("{name}")
	sent := f.s.send("POST", "/events", `[{"event": "`+name+`", "occurred": "2026-01-01T00:00:00Z", "id": "`+uuid.NewString()+`",
		"resource": {"orch.resource.id": "thing"}}]`, nil)
	require.Equal(f.t, http.StatusNoContent, sent.status, "%s", sent.body)
	return f.s.eventType(f.t, name)
}

// delivery posts to the webhook, and returns the entry of the delivery log.
func (f *fixtures) delivery() string {
	f.t.Helper()
	open := f.s.send("PATCH", f.expand("/accounts/{account}/settings"), `{"webhook_allowed_ips": []}`, nil) // Another example limits them.
	require.Less(f.t, open.status, 300, "%s", open.body)
	address, filter := f.read("/webhooks/"+f.get("webhook"), "url"), "/webhooks/"+f.get("webhook")+"/deliveries/filter"
	require.Eventually(f.t, func() bool {
		r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, address, strings.NewReader("{}"))
		require.NoError(f.t, err)
		response, err := f.s.client.Do(r)
		require.NoError(f.t, err)
		require.NoError(f.t, response.Body.Close())
		return response.StatusCode == http.StatusBadRequest // The template makes no event.
	}, time.Minute, 10*time.Millisecond, "the webhook accepts the address")
	var got answer
	require.Eventually(f.t, func() bool {
		got = f.s.send("POST", filter, `{"deliveries": {"status": {"ge_": 400, "le_": 400}}}`, nil)
		return strings.HasPrefix(string(got.body), "[{")
	}, time.Minute, 10*time.Millisecond, "the delivery is logged")
	return got.text("0.id")
}

// reset forgets the objects of the preceding example.
func (f *fixtures) reset(t *testing.T) {
	f.t = t
	account := f.get("account")
	clear(f.made)
	f.made["account"] = account // The first one: examples create others, whose plans include less.
}

// get returns the identifier of a fixture, and creates it on first use.
func (f *fixtures) get(name string) string {
	f.t.Helper()
	if value, made := f.made[name]; made {
		return value
	}
	create, exists := f.create[name]
	require.True(f.t, exists, "no fixture %q in test/rest/fixtures_test.go", name)
	f.made[name] = create()
	return f.made[name]
}

// post returns a function that creates an object and selects a value of the response. {flow} means that fixture, {name}
// a new name.
func (f *fixtures) post(path, body, pick string) func() string {
	return func() string {
		f.t.Helper()
		got := f.s.send("POST", f.expand(path), f.expand(body), nil)
		require.Less(f.t, got.status, 300, "POST %s: %s", path, got.body)
		return got.text(pick)
	}
}

func (f *fixtures) read(path, pick string) string {
	f.t.Helper()
	got := f.s.send("GET", path, "", nil)
	require.Equal(f.t, 200, got.status, "GET %s: %s", path, got.body)
	return got.text(pick)
}

// expand replaces {name} and the names of fixtures.
func (f *fixtures) expand(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		if name := match[1 : len(match)-1]; name != "name" {
			return f.get(name)
		}
		f.count++
		return fmt.Sprintf("fixture%d", f.count)
	})
}

// placeholder matches {name} and the fixtures' names in bodies and paths; {} and JSON objects do not match.
var placeholder = regexp.MustCompile(`\{[a-z][a-z ]*\}`)
