package standalone_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTerraformResources takes each resource that the Terraform provider keeps in a workspace through its life: what is
// read back is what was written, also when it is written again; what was deleted is gone for reading and deleting.
func TestTerraformResources(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "prefect")
	ws := workspacePath
	flow := at(h.must(h.owner, 201, "POST", ws+"/flows/", `{"name": "parent", "tags": []}`), "id")
	blockType := at(h.must(h.owner, 201, "POST", ws+"/block_types", `{"name": "Vault", "slug": "vault", "logo_url": null, "documentation_url": null, "description": "d", "code_example": null}`), "id")
	schema := at(h.must(h.owner, 201, "POST", ws+"/block_schemas", fmt.Sprintf(
		`{"block_type_id": %q, "capabilities": ["read"], "version": "1.0.0", "fields": {"title": "Vault", "type": "object", "properties": {"token": {"type": "string"}, "n": {"type": "integer"}}, "block_type_slug": "vault", "block_schema_references": {}, "secret_fields": []}}`, blockType)), "id")
	trigger := `{"type": "event", "match": {"prefect.resource.id": "prefect.flow-run.*"}, "match_related": {}, "after": [], "expect": ["prefect.flow-run.Failed"], "for_each": ["prefect.resource.id"], "posture": "Reactive", "threshold": 1, "within": 0.0}`
	automation := func(name, description string, enabled bool) string {
		return fmt.Sprintf(`{"name": %q, "description": %q, "enabled": %t, "trigger": %s, "actions": [{"type": "do-nothing"}], "actions_on_trigger": [], "actions_on_resolve": []}`,
			name, description, enabled, trigger)
	}
	deployments := at(h.must(h.owner, 201, "POST", ws+"/deployments/", fmt.Sprintf(`{"name": "scheduled", "flow_id": %q}`, flow)), "id")

	for name, c := range map[string]struct {
		create, path, body string
		statuses           []int
		// update is the method and the bodies that follow each other.
		update  string
		updates []string
		deleted int
		// hidden are the keys that are written and not read back as they were.
		hidden []string
		// grown are those to which the server adds keys.
		grown []string
		query string
	}{
		"flow": {
			path: "/flows", create: "/flows/", body: `{"name": "etl", "tags": ["a", "b"]}`,
			update: "PATCH", updates: []string{`{"tags": []}`, `{"tags": ["c"]}`}, deleted: 204,
		},
		"variable, a text": {
			path: "/variables", create: "/variables/", body: `{"name": "text", "value": " \u00fc\n", "tags": ["t"]}`,
			update: "PATCH", updates: []string{`{"name": "text2", "value": "2", "tags": []}`}, deleted: 204,
		},
		"variable, a number": {
			path: "/variables", create: "/variables/", body: `{"name": "number", "value": 12345678901234, "tags": []}`,
			update: "PATCH", updates: []string{`{"name": "number", "value": 1.5, "tags": []}`}, deleted: 204,
		},
		"variable, an object": {
			path: "/variables", create: "/variables/", body: `{"name": "object", "value": {"z": [1, null, true], "a": {"b": "c"}}, "tags": []}`,
			update: "PATCH", updates: []string{`{"name": "object", "value": ["x"], "tags": []}`, `{"name": "object", "value": false, "tags": []}`}, deleted: 204,
		},
		"global concurrency limit": {
			path: "/v2/concurrency_limits", create: "/v2/concurrency_limits/", body: `{"active": true, "name": "db", "limit": 3, "active_slots": 0, "slot_decay_per_second": 0.5}`,
			update: "PATCH", updates: []string{`{"active": false, "name": "db", "limit": 5, "active_slots": 0, "slot_decay_per_second": 0}`}, deleted: 204,
		},
		"task run concurrency limit": {
			path: "/concurrency_limits", create: "/concurrency_limits/", body: `{"tag": "db", "concurrency_limit": 4}`, deleted: 200,
		},
		"block type": {
			path: "/block_types", create: "/block_types",
			body:   `{"name": "Safe", "slug": "safe", "logo_url": "https://example.com/l.png", "documentation_url": "https://example.com/d", "description": "d", "code_example": "e"}`,
			update: "PATCH", updates: []string{`{"logo_url": "https://example.com/m.png", "documentation_url": "https://example.com/e", "description": "f", "code_example": "g"}`}, deleted: 204,
		},
		"block schema": {
			path: "/block_schemas", create: "/block_schemas",
			body:    fmt.Sprintf(`{"block_type_id": %q, "capabilities": ["read", "write"], "version": "2.0.0", "fields": {"title": "Vault", "type": "object", "properties": {}, "block_type_slug": "vault", "block_schema_references": {}, "x": 1}}`, blockType),
			deleted: 204,
		},
		"block": {
			path: "/block_documents", create: "/block_documents/", query: "?include_secrets=true",
			body:   fmt.Sprintf(`{"name": "main", "data": {"token": "s3cret", "n": 1}, "block_schema_id": %q, "block_type_id": %q}`, schema, blockType),
			update: "PATCH", updates: []string{fmt.Sprintf(`{"block_schema_id": %q, "data": {"token": "other"}, "merge_existing_data": false}`, schema)},
			deleted: 204, hidden: []string{"merge_existing_data"},
		},
		"deployment": {
			path: "/deployments", create: "/deployments/",
			body: fmt.Sprintf(`{"name": "nightly", "flow_id": %q, "description": "d", "enforce_parameter_schema": false, "entrypoint": "f.py:f", "parameters": {"a": 1, "b": [null]},
				"parameter_openapi_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}, "path": "./x", "paused": true, "pull_steps": [{"p": {"q": 1}}], "storage_document_id": null,
				"tags": ["t"], "version": "v1", "job_variables": {"env": {"A": "1"}}, "concurrency_limit": 2, "concurrency_options": {"collision_strategy": "ENQUEUE"}}`, flow),
			update: "PATCH", updates: []string{
				`{"description": "e", "paused": false, "parameters": {}, "tags": [], "version": "v2", "job_variables": {}, "entrypoint": "g.py:g", "path": "", "enforce_parameter_schema": false}`,
				`{"concurrency_limit": null}`,
			}, deleted: 204, hidden: []string{"concurrency_limit"}, grown: []string{"concurrency_options"},
		},
		"automation": {
			path: "/automations", create: "/automations/", body: automation("notify", "", true),
			update: "PUT", updates: []string{automation("notify2", "d", false)}, deleted: 204, grown: []string{"trigger"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			func() {
				t.Log(name)
				got := h.do(h.owner, "POST", ws+c.create, c.body)
				require.Contains(t, []int{200, 201}, got.status, got.body)
				id := at(h.decode(got), "id")
				one := ws + c.path + "/" + id
				wanted := object{}
				written := func(body string) {
					t.Helper()
					var sent object
					require.NoError(t, json.Unmarshal([]byte(body), &sent))
					maps.Copy(wanted, sent)
					read := h.must(h.owner, 200, "GET", one+c.query, "")
					for key, value := range wanted {
						if slices.Contains(c.grown, key) {
							require.Subset(t, read[key], value, key)
						} else if !slices.Contains(c.hidden, key) {
							require.Equal(t, value, read[key], key)
						}
					}
				}
				written(c.body)
				for _, body := range c.updates {
					for range 2 { // Applied again it is the same.
						got := h.do(h.owner, c.update, one, body)
						require.Contains(t, []int{200, 204}, got.status, "%s: %s", body, got.body)
						written(body)
					}
				}
				require.Equal(t, c.deleted, h.do(h.owner, "DELETE", one, "").status)
				require.Equal(t, 404, h.do(h.owner, "GET", one, "").status)
				require.Equal(t, 404, h.do(h.owner, "DELETE", one, "").status)
				// The name is free again at once: replacing is deleting and creating.
				got = h.do(h.owner, "POST", ws+c.create, c.body)
				require.Contains(t, []int{200, 201}, got.status, got.body)
			}()
		})
	}

	// A deployment's limit is read as the global limit that it became, and taken away by null alone.
	limit := func() any {
		return h.must(h.owner, 200, "GET", ws+"/deployments/"+deployments, "")["global_concurrency_limit"]
	}
	for _, step := range []struct {
		body string
		want any
	}{{`{"concurrency_limit": 2}`, 2.0}, {`{"description": "d"}`, 2.0}, {`{"concurrency_limit": null}`, nil}} {
		t.Run(step.body, func(t *testing.T) {
			require.Equal(t, 204, h.do(h.owner, "PATCH", ws+"/deployments/"+deployments, step.body).status)
			if step.want == nil {
				require.Nil(t, limit(), step.body)
			} else {
				require.Equal(t, step.want, limit().(object)["limit"], step.body)
			}
		})
	}

	// prefect_deployment_schedule
	schedules := ws + "/deployments/" + deployments + "/schedules"
	all := func() []object {
		var list []object
		require.NoError(t, json.Unmarshal([]byte(h.do(h.owner, "GET", schedules, "").body), &list))
		return list
	}
	got := h.do(h.owner, "POST", schedules, `[{"active": true, "schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin", "day_or": true}}]`)
	require.Contains(t, []int{200, 201}, got.status, got.body)
	require.Len(t, all(), 1)
	schedule := all()[0]
	require.Equal(t, object{"cron": "0 3 * * *", "timezone": "Europe/Berlin", "day_or": true}, schedule["schedule"])
	require.Equal(t, 204, h.do(h.owner, "PATCH", schedules+"/"+at(schedule, "id"), `{"active": false, "schedule": {"interval": 3600.0, "anchor_date": "2026-01-01T00:00:00Z", "timezone": "UTC"}}`).status)
	schedule = all()[0]
	require.Equal(t, false, schedule["active"])
	require.Equal(t, object{"interval": 3600.0, "anchor_date": "2026-01-01T00:00:00Z", "timezone": "UTC"}, schedule["schedule"])
	require.Equal(t, 204, h.do(h.owner, "DELETE", schedules+"/"+at(schedule, "id"), "").status)
	require.Equal(t, 404, h.do(h.owner, "DELETE", schedules+"/"+at(schedule, "id"), "").status)
	require.Empty(t, all())
}
