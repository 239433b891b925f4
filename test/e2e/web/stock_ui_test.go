//go:build e2eweb

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// servedBase is the text in the files of the stock web UI that stands for the path below which a server serves them.
const servedBase = "/PREFECT_UI_SERVE_BASE_REPLACE_PLACEHOLDER"

// stockUI serves the web UI of the Python package, as the Python server would with the API at an address of Orch.
// The API's address may be set until the first page is read.
type stockUI struct {
	dir string
	api string
}

func (u *stockUI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ui-settings" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{
			"api_url": u.api, "csrf_enabled": false, "auth": nil, "flags": []string{},
			"default_ui": "v1", "available_uis": []string{"v1"}, "v1_base_url": "/", "v2_base_url": nil,
		})
		return
	}
	name := filepath.Join(u.dir, filepath.FromSlash(filepath.Clean("/"+r.URL.Path)))
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		name = filepath.Join(u.dir, "index.html") // The scripts of the UI route every other path.
	}
	content, err := os.ReadFile(name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	http.ServeContent(w, r, name, time.Time{}, strings.NewReader(strings.ReplaceAll(string(content), servedBase, "")))
}

// apiObserver collects the requests to the API that fail, and the errors of scripts.
type apiObserver struct {
	mu       sync.Mutex
	api      string
	requests int
	problems []string
	urls     map[network.RequestID]string // Of requests to the API.
	open     map[network.RequestID]bool   // The requests to the API that have not ended.
	settled  *time.Timer                  // Fires quiet after the last request to the API ended.
}

// quiet is how long a settled page asks nothing of the API. A page that refreshes itself does so every 5 s.
const quiet = 500 * time.Millisecond

// ended notes the end of a request to the API. The caller holds the lock.
func (o *apiObserver) ended(id network.RequestID) {
	if !o.open[id] {
		return
	}
	delete(o.open, id)
	if len(o.open) == 0 {
		o.settled.Reset(quiet)
	}
}

func (o *apiObserver) listen(event any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if path, found := strings.CutPrefix(e.Request.URL, o.api); found {
			o.open[e.RequestID] = true
			o.settled.Stop()
			o.urls[e.RequestID] = e.Request.Method + " " + path
		}
	case *network.EventLoadingFinished:
		o.ended(e.RequestID)
	case *network.EventLoadingFailed:
		o.ended(e.RequestID)
		if request := o.urls[e.RequestID]; request != "" && !e.Canceled {
			o.problems = append(o.problems, fmt.Sprintf("%s: %s %+v", request, e.ErrorText, e.CorsErrorStatus))
		}
	case *network.EventResponseReceived:
		if !strings.HasPrefix(e.Response.URL, o.api) {
			return
		}
		o.requests++
		if e.Response.Status >= http.StatusBadRequest {
			o.problems = append(o.problems, fmt.Sprintf("%s: %d", o.urls[e.RequestID], e.Response.Status))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		o.problems = append(o.problems, "exception: "+text)
	}
}

// take returns and forgets what was collected.
func (o *apiObserver) take() (requests int, problems []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	requests, problems = o.requests, o.problems
	o.requests, o.problems = 0, nil
	return requests, problems
}

// TestStockUI reads the pages of the web UI in the Python package, with Orch as its API. No request to the API may fail.
// ORCH_TEST_PREFECT names the Python environment.
func TestStockUI(t *testing.T) {
	environment := os.Getenv("ORCH_TEST_PREFECT")
	if environment == "" {
		t.Skip("ORCH_TEST_PREFECT does not name a Python environment; make e2e-stock-ui sets it")
	}
	found, err := filepath.Glob(filepath.Join(environment, "lib/python3*/site-packages/prefect/server/ui"))
	require.NoError(t, err)
	require.Len(t, found, 1, "find the web UI in %s", environment)
	ui := &stockUI{dir: found[0]}
	site := httptest.NewServer(ui)
	t.Cleanup(site.Close)

	o := e2e.StartSingle(t, programs, t.TempDir(), "ORCH_VOCABULARY=prefect", "ORCH_CORS_ORIGINS="+site.URL)
	ui.api = o.API()
	paths := seedStock(t, o.API())

	browser, _ := open(t, site.URL, 10*time.Minute)
	total := 0
	for _, path := range paths {
		t.Run(strings.Trim(ids.ReplaceAllString(path, "id"), "/"), func(t *testing.T) {
			// Each page has a tab of its own: Chromium's renderer can stall when one tab reads page after page.
			tab, end := chromedp.NewContext(browser)
			defer end()
			seen := &apiObserver{
				api: o.API(), urls: map[network.RequestID]string{}, open: map[network.RequestID]bool{}, settled: time.NewTimer(time.Hour),
			}
			defer seen.settled.Stop()
			settle(tab, t, seen, site.URL+path)
			screenshot(tab, t, site.URL+path, true)
			requests, problems := seen.take()
			require.Empty(t, problems)
			require.Positive(t, requests, "the page did not use the API")
			total += requests
		})
	}
	require.Positive(t, total, "the pages did not use the API")
	t.Logf("%d pages, %d requests to the API", len(paths), total)
}

// settle opens a page in a new tab and waits until its requests to the API have ended.
func settle(tab context.Context, t *testing.T, seen *apiObserver, address string) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab)) // Listen must not miss the events of the page.
	require.NoError(t, chromedp.Listen(tab, seen.listen))
	_, err := chromedp.Call(tab, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	loading, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	_, err = chromedp.Run(loading, chromedp.Navigate(address))
	require.NoError(t, err)
	select {
	case <-seen.settled.C:
	case <-loading.Done():
		t.Fatalf("wait until %s has what it asked of the API: timeout", address)
	}
}

// seedStock creates one of everything that the web UI shows, and returns the paths of its pages.
func seedStock(t *testing.T, api string) []string {
	s := seeder{t, api}
	flow := s.post("/flows/", object{"name": "ingest", "tags": []string{"etl"}})
	s.post("/work_pools/", object{"name": "pool", "type": "process"})
	s.post("/work_pools/pool/queues/", object{"name": "high", "priority": 1})
	deployment := s.post("/deployments/", object{
		"name": "nightly", "flow_id": flow, "work_pool_name": "pool", "work_queue_name": "high", "entrypoint": "flow.py:ingest",
		"schedules":                []object{{"schedule": object{"cron": "0 2 * * *", "timezone": "UTC"}}},
		"parameter_openapi_schema": object{"type": "object", "properties": object{"limit": object{"type": "integer", "title": "limit"}}},
	})
	run := ""
	for i := range 5 {
		run = s.post("/flow_runs/", object{"flow_id": flow, "deployment_id": deployment, "name": fmt.Sprint("run ", i), "state": object{"type": "SCHEDULED"}})
		for _, state := range []string{"PENDING", "RUNNING", "COMPLETED"} {
			s.post("/flow_runs/"+run+"/set_state", object{"state": object{"type": state}, "force": true})
		}
	}
	task := s.post("/task_runs/", object{"flow_run_id": run, "task_key": "task", "dynamic_key": "0", "name": "task"})
	s.post("/task_runs/"+task+"/set_state", object{"state": object{"type": "RUNNING"}, "force": true})
	s.post("/logs/", []object{{
		"name": "flow_runs", "level": 20, "message": "line", "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "flow_run_id": run, "task_run_id": task,
	}})
	artifact := s.post("/artifacts/", object{"key": "report", "type": "markdown", "data": "# Report", "flow_run_id": run})
	s.post("/variables/", object{"name": "variable", "value": "value"})
	limit := s.post("/v2/concurrency_limits/", object{"name": "limit", "limit": 2})
	tagLimit := s.post("/concurrency_limits/", object{"tag": "tag", "concurrency_limit": 2})
	automation := s.post("/automations/", object{
		"name": "automation", "trigger": object{"type": "event", "posture": "Reactive", "expect": []string{"x.y"}, "threshold": 1, "within": 0},
		"actions": []object{{"type": "run-deployment", "source": "selected", "deployment_id": deployment}},
	})
	block := seedBlock(t, api, "secret", object{"value": "hidden"})
	return []string{
		"/dashboard", "/runs", "/runs?tab=task-runs", "/flows", "/flows/flow/" + flow, "/flows/flow/" + flow + "?tab=Deployments", "/deployments",
		"/deployments/deployment/" + deployment, "/deployments/deployment/" + deployment + "/edit",
		"/deployments/deployment/" + deployment + "/duplicate", "/deployments/deployment/" + deployment + "/run",
		"/runs/flow-run/" + run, "/runs/flow-run/" + run + "?tab=Task%20Runs", "/runs/flow-run/" + run + "?tab=Subflow%20Runs",
		"/runs/flow-run/" + run + "?tab=Artifacts", "/runs/flow-run/" + run + "?tab=Details", "/runs/task-run/" + task,
		"/blocks", "/blocks/catalog", "/blocks/catalog/secret", "/blocks/catalog/secret/create", "/blocks/block/" + block, "/blocks/block/" + block + "/edit",
		"/concurrency-limits", "/concurrency-limits/concurrency-limit/" + tagLimit, "/concurrency-limits-v2/concurrency-limit-v2/" + limit,
		"/artifacts", "/artifacts/key/report", "/artifacts/artifact/" + artifact, "/variables",
		"/work-pools", "/work-pools/create", "/work-pools/work-pool/pool", "/work-pools/work-pool/pool/edit", "/work-pools/work-pool/pool/queue/high",
		"/work-pools/work-pool/pool/queue/create", "/work-pools/work-pool/pool/queue/high/edit", "/automations", "/automations/create",
		"/automations/automation/" + automation, "/automations/automation/" + automation + "/edit", "/events", "/settings",
	}
}

// seedBlock creates a block of a type that every workspace has, and returns its id.
func seedBlock(t *testing.T, api, slug string, data object) string {
	t.Helper()
	var blockType struct {
		ID string `json:"id"`
	}
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, api+"/block_types/slug/"+url.PathEscape(slug), nil, &blockType))
	var schemas []struct {
		ID string `json:"id"`
	}
	filter := object{"block_schemas": object{"block_type_id": object{"any_": []string{blockType.ID}}}}
	require.Equal(t, http.StatusOK, call(t, http.MethodPost, api+"/block_schemas/filter", filter, &schemas))
	require.NotEmpty(t, schemas)
	return seeder{t, api}.post("/block_documents/", object{"name": "block", "block_type_id": blockType.ID, "block_schema_id": schemas[0].ID, "data": data})
}
