package standalone_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// only returns the id of the only record of a filter operation.
func (s *server) only(path string) string {
	s.t.Helper()
	var found []struct{ ID string }
	require.Equal(s.t, http.StatusOK, s.ask(http.MethodPost, path, `{}`, &found))
	require.Len(s.t, found, 1, path)
	return found[0].ID
}

// edit submits a form of a page with the version of the object that the page shows.
func (s *server) edit(page string, form url.Values) string {
	s.t.Helper()
	version := regexp.MustCompile(`name="updated" value="([^"]+)"`).FindStringSubmatch(s.page(page))
	require.NotNil(s.t, version, page)
	form.Set("updated", version[1])
	return s.submit(page, form)
}

// Each object of the data pages is made, changed and deleted by the forms of the dashboard, without scripts.
func TestTheDashboardMakesChangesAndDeletesObjects(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	t.Run("variable", func(t *testing.T) {
		s := s.forTest(t)
		require.Contains(t, s.submit("/variables", url.Values{"action": {"variable-create"}, "name": {"Not a name"}, "value": {"x"}}), `aria-invalid="true"`)
		s.submit("/variables", url.Values{"action": {"variable-create"}, "name": {"region"}, "value": {"eu-west-1"}, "tags": {"a, b"}})
		page := "/variables/variable/" + s.only("/variables/filter")
		require.Contains(t, s.page(page), ">eu-west-1</textarea>")
		old := url.Values{"action": {"variable-edit"}, "name": {"region"}, "value": {"mine"}, "updated": {"2020-01-01T00:00:00Z"}}
		require.Contains(t, s.submit(page, old), "Someone else has changed this")
		s.edit(page, url.Values{"action": {"variable-edit"}, "name": {"area"}, "value": {`{"rows": 1}`}})
		var got struct {
			Name  string
			Value map[string]any
			Tags  []string
		}
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/variables/name/area", "", &got))
		require.Equal(t, map[string]any{"rows": 1.}, got.Value)
		require.Empty(t, got.Tags)
		require.Contains(t, s.submit(page, url.Values{"action": {"variable-delete"}}), "Delete the variable?")
		s.submit(page, url.Values{"action": {"variable-delete"}, "confirm": {"yes"}})
		require.Equal(t, http.StatusNotFound, s.ask(http.MethodGet, "/variables/name/area", "", nil))
	})
	t.Run("limit", func(t *testing.T) {
		s := s.forTest(t)
		s.submit("/concurrency-limits", url.Values{"action": {"limit-create"}, "name": {"database"}, "limit": {"3"}, "active": {"yes"}})
		require.Contains(t, s.submit("/concurrency-limits", url.Values{"action": {"limit-create"}, "name": {"database"}, "limit": {"3"}}), `role="alert"`, "the name is taken")
		var limit struct {
			ID     string
			Limit  int
			Active bool
		}
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/v2/concurrency_limits/database", "", &limit))
		s.edit("/concurrency-limits/concurrency-limit/"+limit.ID, url.Values{"action": {"limit-edit"}, "name": {"database"}, "limit": {"2"}, "slot_decay_per_second": {"0.5"}})
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/v2/concurrency_limits/database", "", &limit))
		require.Equal(t, 2, limit.Limit)
		require.False(t, limit.Active)
		s.submit("/concurrency-limits/concurrency-limit/"+limit.ID, url.Values{"action": {"limit-delete"}, "confirm": {"yes"}})
		require.Equal(t, http.StatusNotFound, s.ask(http.MethodGet, "/v2/concurrency_limits/database", "", nil))
	})
	t.Run("block", func(t *testing.T) {
		s := s.forTest(t)
		require.Contains(t, s.page("/blocks/new"), "/blocks/new?type=secret")
		require.Contains(t, s.page("/blocks/new?type=secret"), `name="p.value" type="password"`)
		s.submit("/blocks/new?type=secret", url.Values{"action": {"block-create"}, "name": {"token"}, "p.value": {"correct-horse"}})
		id := s.only("/block_documents/filter")
		require.NotContains(t, s.page("/blocks/block/"+id)+s.page("/blocks/block/"+id+"/edit"), "correct-horse")
		value := func() string {
			var got struct{ Data struct{ Value string } }
			require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/block_documents/"+id+"?include_secrets=true", "", &got))
			return got.Data.Value
		}
		s.edit("/blocks/block/"+id+"/edit", url.Values{"action": {"block-edit"}, "p.value": {""}})
		require.Equal(t, "correct-horse", value(), "an empty field keeps the secret")
		s.edit("/blocks/block/"+id+"/edit", url.Values{"action": {"block-edit"}, "p.value": {"battery-staple"}})
		require.Equal(t, "battery-staple", value())
		s.submit("/blocks/block/"+id, url.Values{"action": {"block-delete"}, "confirm": {"yes"}})
		require.Equal(t, http.StatusNotFound, s.ask(http.MethodGet, "/block_documents/"+id, "", nil))
	})
	t.Run("work pool and queue", func(t *testing.T) {
		s := s.forTest(t)
		require.Contains(t, s.page("/work-pools"), `<option value="kubernetes">`)
		s.submit("/work-pools", url.Values{"action": {"pool-create"}, "name": {"local"}, "type": {"process"}, "concurrency_limit": {"4"}})
		const pool = "/work-pools/work-pool/local"
		require.Contains(t, s.page(pool), "No worker polls this pool.")
		s.edit(pool, url.Values{"action": {"pool-edit"}, "description": {"here"}, "concurrency_limit": {""}})
		s.submit(pool, url.Values{"action": {"queue-create"}, "name": {"urgent"}, "priority": {"1"}})
		s.submit(pool, url.Values{"action": {"pause-queue"}, "queue": {"urgent"}})
		s.edit(pool+"/queue/urgent", url.Values{"action": {"queue-edit"}, "priority": {"2"}, "concurrency_limit": {"3"}})
		var queue struct {
			Priority int
			Limit    int  `json:"concurrency_limit"`
			Paused   bool `json:"is_paused"`
		}
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/work_pools/local/queues/urgent", "", &queue))
		require.Equal(t, 3, queue.Limit)
		require.True(t, queue.Paused)
		s.submit(pool+"/queue/urgent", url.Values{"action": {"queue-delete"}, "confirm": {"yes"}})
		require.Equal(t, http.StatusNotFound, s.ask(http.MethodGet, "/work_pools/local/queues/urgent", "", nil))
		require.Equal(t, http.StatusNoContent, s.ask(http.MethodPost, "/work_pools/local/workers/heartbeat", `{"name": "w1"}`, nil))
		s.submit(pool, url.Values{"action": {"worker-remove"}, "worker": {"w1"}})
		var workers []any
		require.Equal(t, http.StatusOK, s.ask(http.MethodPost, "/work_pools/local/workers/filter", `{}`, &workers))
		require.Empty(t, workers)
		s.submit(pool, url.Values{"action": {"pool-delete"}, "confirm": {"yes"}})
		require.Equal(t, http.StatusNotFound, s.ask(http.MethodGet, "/work_pools/local", "", nil))
	})
	t.Run("deployment and schedule", func(t *testing.T) {
		s := s.forTest(t)
		flow := s.create("/flows/", `{"name": "orders"}`)
		deployment := "/deployments/deployment/" + s.create("/deployments/", `{"flow_id": "`+flow+`", "name": "nightly"}`)
		s.edit("/flows/flow/"+flow, url.Values{"action": {"flow-edit"}, "tags": {"x"}})
		s.edit(deployment, url.Values{"action": {"deployment-edit"}, "tags": {"a, b"}, "concurrency_limit": {"2"}, "collision_strategy": {"CANCEL_NEW"}, "parameters": {`{"day": 1}`}, "description": {"each night"}, "lateness": {"skip"}})
		refused := url.Values{"action": {"deployment-edit"}, "job_variables": {`{"image": "a"}`}, "lateness": {"soon"}}
		require.Contains(t, s.submit(deployment, refused), "orch.lateness is &quot;soon&quot;, not")
		s.submit(deployment, url.Values{"action": {"schedule-create"}, "kind": {"cron"}, "rule": {"0 6 * * 1-5"}, "timezone": {"Europe/Rome"}, "slug": {"week"}, "active": {"yes"}})
		require.Contains(t, s.submit(deployment, url.Values{"action": {"schedule-create"}, "kind": {"cron"}, "rule": {"sometimes"}, "timezone": {"UTC"}}), `role="alert"`)
		var got struct {
			Tags       []string
			Parameters map[string]any
			Variables  map[string]any      `json:"job_variables"`
			Limit      struct{ Limit int } `json:"global_concurrency_limit"`
			Options    struct {
				Strategy string `json:"collision_strategy"`
			} `json:"concurrency_options"`
			Schedules []struct {
				ID       string
				Active   bool
				Slug     string
				Schedule struct {
					Cron     string
					Interval float64
					Timezone string
				}
			}
		}
		path := "/deployments/name/orders/nightly"
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, path, "", &got))
		require.Equal(t, []string{"a", "b"}, got.Tags)
		require.Equal(t, 2, got.Limit.Limit)
		require.Equal(t, "CANCEL_NEW", got.Options.Strategy)
		require.Equal(t, map[string]any{"day": 1.}, got.Parameters)
		require.Equal(t, map[string]any{"orch.lateness": "skip"}, got.Variables)
		require.Len(t, got.Schedules, 1)
		require.Equal(t, "0 6 * * 1-5", got.Schedules[0].Schedule.Cron)
		schedule := deployment + "/schedule/" + got.Schedules[0].ID
		require.Contains(t, s.page(schedule), "Next times")
		s.edit(schedule, url.Values{"action": {"schedule-edit"}, "kind": {"interval"}, "rule": {"3600"}, "timezone": {"UTC"}, "slug": {"hourly"}})
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, path, "", &got))
		require.InDelta(t, 3600, got.Schedules[0].Schedule.Interval, 0)
		require.Equal(t, "hourly", got.Schedules[0].Slug)
		require.False(t, got.Schedules[0].Active)
		s.submit(schedule, url.Values{"action": {"schedule-delete"}, "confirm": {"yes"}})
		got.Schedules = nil
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, path, "", &got))
		require.Empty(t, got.Schedules)
		s.submit("/flows/flow/"+flow, url.Values{"action": {"flow-delete"}, "confirm": {"yes"}})
		require.Equal(t, http.StatusNotFound, s.ask(http.MethodGet, "/flows/"+flow, "", nil))
	})
}

// Runs are found by the names of their flow, deployment and work pool.
func TestTheDashboardFindsRunsByNames(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	flow, other := s.create("/flows/", `{"name": "orders"}`), s.create("/flows/", `{"name": "invoices"}`)
	deployment := s.create("/deployments/", `{"flow_id": "`+flow+`", "name": "prod"}`)
	s.create("/deployments/", `{"flow_id": "`+other+`", "name": "prod"}`)
	scheduled := func(flow, name string) string {
		return `{"flow_id": "` + flow + `", "name": "` + name + `", "state": {"type": "SCHEDULED"}}`
	}
	s.create("/flow_runs/", scheduled(flow, "by-hand"))
	s.create("/flow_runs/", scheduled(other, "of-another"))
	s.create("/deployments/"+deployment+"/create_flow_run", `{"name": "deployed"}`)
	for _, c := range []struct {
		query       string
		shown, gone []string
	}{
		{"flow=orders", []string{"by-hand", "deployed"}, []string{"of-another"}},
		{"flow=" + flow, []string{"by-hand", "deployed"}, []string{"of-another"}},
		{"flow=orders&flow=invoices", []string{"by-hand", "deployed", "of-another"}, nil},
		{"deployment=orders/prod", []string{"deployed"}, []string{"by-hand", "of-another"}},
		{"deployment=prod", []string{"deployed"}, []string{"by-hand", "of-another"}},
		{"deployment=invoices/prod", nil, []string{"by-hand", "deployed", "of-another"}},
		{"flow=nothing", nil, []string{"by-hand", "deployed", "of-another"}},
		{"deployment=nothing/prod", nil, []string{"by-hand", "deployed", "of-another"}},
	} {
		t.Run(c.query, func(t *testing.T) {
			text := s.forTest(t).page("/runs?chart=histogram&to=%2B1h&" + c.query)
			for _, name := range c.shown {
				require.Contains(t, text, ">"+name+"<")
			}
			for _, name := range c.gone {
				require.NotContains(t, text, ">"+name+"<")
			}
		})
	}
}
