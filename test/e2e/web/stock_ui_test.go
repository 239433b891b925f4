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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// servedBase is the text in the files of the stock web UI that stands for the path below which a server serves them.
const servedBase = "/PREFECT_UI_SERVE_BASE_REPLACE_PLACEHOLDER"

// bundle is one of the two web UIs in the Python package.
type bundle struct {
	name   string
	folder string // In the package's server.
	base   string // The path below which it is served.
	paths  func(stock) []string
}

var bundles = []bundle{{"v1", "ui", "", stock.pathsOfV1}, {"v2", "ui-v2", "/v2", stock.pathsOfV2}}

// stockUI serves the web UIs of the Python package, as the Python server would with the API at an address of Orch.
// The API's address may be set until the first page is read.
type stockUI struct {
	dir      string
	api      string
	password bool
}

func (u *stockUI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ui-settings" {
		var auth any
		if u.password {
			auth = "BASIC"
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{
			"api_url": u.api, "csrf_enabled": false, "auth": auth, "flags": []string{},
			"default_ui": "v1", "available_uis": []string{"v1", "v2"}, "v1_base_url": "/", "v2_base_url": "/v2",
		})
		return
	}
	served := bundles[0]
	if r.URL.Path == bundles[1].base || strings.HasPrefix(r.URL.Path, bundles[1].base+"/") {
		served = bundles[1]
	}
	dir := filepath.Join(u.dir, served.folder)
	name := filepath.Join(dir, filepath.FromSlash(filepath.Clean("/"+strings.TrimPrefix(r.URL.Path, served.base))))
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		name = filepath.Join(dir, "index.html") // The scripts of the UI route every other path.
	}
	content, err := os.ReadFile(name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "max-age=3600") // Each page is a tab of its own, which loads all scripts again.
	http.ServeContent(w, r, name, time.Time{}, strings.NewReader(strings.ReplaceAll(string(content), servedBase, served.base)))
}

// apiObserver collects the requests to the API that fail, requests to other servers, and errors of scripts and the console.
type apiObserver struct {
	mu       sync.Mutex
	site     string
	api      string
	requests int
	answered map[string]bool // The requests that have a response, with "id" for ids.
	problems []string
	urls     map[network.RequestID]string // Of requests to the API.
	open     map[network.RequestID]bool   // The requests to the API without a response.
	settled  *time.Timer                  // Fires quiet after the last response of the API.
}

// analytics is the address of another company from which v2 reads settings before it asks the server whether it may send usage data.
const analytics = "https://sr-client-cfg.amplitude.com/config/"

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
		} else if strings.HasPrefix(e.Request.URL, "http") && !strings.HasPrefix(e.Request.URL, o.site) && !strings.HasPrefix(e.Request.URL, analytics) {
			o.problems = append(o.problems, "request to another server: "+e.Request.URL)
		}
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
		o.ended(e.RequestID) // A script that does not read the body leaves the request loading.
		o.answered[ids.ReplaceAllString(o.urls[e.RequestID], "id")] = true
		if e.Response.Status >= http.StatusBadRequest {
			o.problems = append(o.problems, fmt.Sprintf("%s: %d", o.urls[e.RequestID], e.Response.Status))
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" {
			o.problems = append(o.problems, "console: "+printed(e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" && !strings.HasPrefix(e.Entry.URL, analytics) {
			o.problems = append(o.problems, "log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		o.problems = append(o.problems, "exception: "+text)
	}
}

// printed returns what a script printed to the console.
func printed(args []*runtime.RemoteObject) string {
	var texts []string
	for _, arg := range args {
		texts = append(texts, arg.Description+string(arg.Value))
	}
	return strings.Join(texts, " ")
}

// has reports whether a request has a response.
func (o *apiObserver) has(request string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answered[request]
}

// take returns and forgets what was collected.
func (o *apiObserver) take() (requests int, problems []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	requests, problems = o.requests, o.problems
	o.requests, o.problems = 0, nil
	return requests, problems
}

// uiPassword is what a server with a password expects, and what users type into the login page.
const uiPassword = "ada:correct-horse-battery-staple"

// stockSite is a web UI beside a server of its own.
type stockSite struct {
	*stockUI
	bundle  bundle
	url     string // Of the bundle.
	origin  string
	seeds   seeder
	browser context.Context
	total   int // Requests to the API.
}

// newStockSite starts a server, a web UI for it and a browser, which signs in if the server has a password. ORCH_TEST_PREFECT
// names the Python environment of the web UI.
func newStockSite(t *testing.T, b bundle, password bool) *stockSite {
	t.Helper()
	environment := os.Getenv("ORCH_TEST_PREFECT")
	if environment == "" {
		t.Skip("ORCH_TEST_PREFECT does not name a Python environment; make e2e-stock-ui sets it")
	}
	found, err := filepath.Glob(filepath.Join(environment, "lib/python3*/site-packages/prefect/server"))
	require.NoError(t, err)
	require.Len(t, found, 1, "find the web UI in %s", environment)
	s := &stockSite{stockUI: &stockUI{dir: found[0], password: password}, bundle: b}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.origin, s.url = server.URL, server.URL+b.base

	env := []string{"ORCH_VOCABULARY=prefect", "ORCH_CORS_ORIGINS=" + server.URL}
	if password {
		env = append(env, "ORCH_AUTH_BASIC="+uiPassword)
	}
	o := e2e.StartSingle(t, programs, t.TempDir(), env...)
	s.api, s.seeds = o.API(), seeder{t, o.API()}
	s.browser, _ = open(t, server.URL, time.Hour)
	if password {
		s.seeds.api = strings.Replace(s.api, "://", "://"+uiPassword+"@", 1)
		s.signIn(t)
	}
	return s
}

// signIn types the password into the login page to which every page leads without one.
func (s *stockSite) signIn(t *testing.T) {
	t.Helper()
	step, cancel := context.WithTimeout(s.browser, startWait)
	defer cancel()
	require.NoError(t, chromedp.Do(step,
		chromedp.Navigate(s.url+"/flows"),
		shown(`//input[@type="password"]`),
		chromedp.SendKeys(`//input[@type="password"]`, uiPassword),
		chromedp.Click(`//button[@type="submit"]`),
		chromedp.WaitNotPresent(`//input[@type="password"]`),
	))
}

// loads bounds the tabs in which a page is opened: Chromium's renderer can stall on a busy machine.
const loads = 3

// tab runs steps in a tab of their own, because Chromium's renderer can stall when one tab reads page after page. No request to
// the API may fail.
func (s *stockSite) tab(t *testing.T, path string, steps func(tab context.Context, seen *apiObserver)) {
	t.Helper()
	for load := 1; ; load++ {
		if s.load(t, path, steps) {
			return
		}
		require.Less(t, load, loads, "%s never has what it asked of the API", s.url+path)
	}
}

// load opens a page in a new tab and runs the steps, and reports whether the page had what it asked of the API.
func (s *stockSite) load(t *testing.T, path string, steps func(tab context.Context, seen *apiObserver)) bool {
	t.Helper()
	tab, end := chromedp.NewContext(s.browser)
	defer end()
	seen := &apiObserver{
		site: s.origin, api: s.api, answered: map[string]bool{}, urls: map[network.RequestID]string{}, open: map[network.RequestID]bool{}, settled: time.NewTimer(time.Hour),
	}
	defer seen.settled.Stop()
	settled := settle(tab, t, seen, s.url+path)
	if settled {
		screenshot(tab, t, s.bundle.name+s.url+path, true)
		if steps != nil {
			steps(tab, seen)
		}
	}
	requests, problems := seen.take()
	require.Empty(t, problems)
	if settled {
		require.Positive(t, requests, "the page did not use the API")
	}
	s.total += requests
	return settled
}

// TestStockUI reads the pages of both web UIs in the Python package, with Orch as their API, without and with a password. No
// request to the API may fail, and no script may report an error.
func TestStockUI(t *testing.T) {
	for _, b := range bundles {
		for _, password := range []bool{false, true} {
			t.Run(b.name+map[bool]string{false: "", true: " with a password"}[password], func(t *testing.T) {
				site := newStockSite(t, b, password)
				paths := b.paths(seedStock(site.seeds))
				for _, path := range paths {
					t.Run(strings.Trim(ids.ReplaceAllString(path, "id"), "/"), func(t *testing.T) { site.tab(t, path, nil) })
				}
				t.Logf("%d pages, %d requests to the API", len(paths), site.total)
			})
		}
	}
}

// settle opens a page in a new tab and waits until its requests to the API have ended, for a minute at most.
func settle(tab context.Context, t *testing.T, seen *apiObserver, address string) bool {
	t.Helper()
	require.NoError(t, chromedp.Do(tab)) // Listen must not miss the events of the page.
	require.NoError(t, chromedp.Listen(tab, seen.listen))
	_, err := chromedp.Call(tab, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(tab, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	loading, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	if _, err = chromedp.Run(loading, chromedp.Navigate(address)); loading.Err() == nil {
		require.NoError(t, err)
	}
	select {
	case <-seen.settled.C:
		return true
	case <-loading.Done():
		return false
	}
}

// stock is one of everything that the web UIs show.
type stock struct {
	flow, deployment, run, task, artifact, limit, tagLimit, automation, block string
}

// seedStock creates one of everything.
func seedStock(s seeder) stock {
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
	artifact := s.post("/artifacts/", object{"key": "report", "type": "markdown", "data": "# Report", "flow_run_id": run, "task_run_id": task})
	s.post("/artifacts/", object{"key": "steps", "type": "progress", "data": 40, "flow_run_id": run, "task_run_id": task})
	s.post("/work_pools/pool/workers/heartbeat", object{"name": "worker"})
	s.post("/variables/", object{"name": "variable", "value": "value"})
	limit := s.post("/v2/concurrency_limits/", object{"name": "limit", "limit": 2})
	tagLimit := s.post("/concurrency_limits/", object{"tag": "tag", "concurrency_limit": 2})
	automation := s.post("/automations/", object{
		"name": "automation", "trigger": object{"type": "event", "posture": "Reactive", "expect": []string{"x.y"}, "threshold": 1, "within": 0},
		"actions": []object{{"type": "run-deployment", "source": "selected", "deployment_id": deployment}},
	})
	block := seedBlock(s.t, s.api, "secret", object{"value": "hidden"})
	return stock{flow, deployment, run, task, artifact, limit, tagLimit, automation, block}
}

// pathsOfV1 returns the paths of all pages of v1.
func (s stock) pathsOfV1() []string {
	return []string{
		"/dashboard", "/runs", "/runs?tab=task-runs", "/flows", "/flows/flow/" + s.flow, "/flows/flow/" + s.flow + "?tab=Deployments", "/deployments",
		"/deployments/deployment/" + s.deployment, "/deployments/deployment/" + s.deployment + "/edit",
		"/deployments/deployment/" + s.deployment + "/duplicate", "/deployments/deployment/" + s.deployment + "/run",
		"/runs/flow-run/" + s.run, "/runs/flow-run/" + s.run + "?tab=Task%20Runs", "/runs/flow-run/" + s.run + "?tab=Subflow%20Runs",
		"/runs/flow-run/" + s.run + "?tab=Artifacts", "/runs/flow-run/" + s.run + "?tab=Details", "/runs/task-run/" + s.task,
		"/blocks", "/blocks/catalog", "/blocks/catalog/secret", "/blocks/catalog/secret/create", "/blocks/block/" + s.block, "/blocks/block/" + s.block + "/edit",
		"/concurrency-limits", "/concurrency-limits/concurrency-limit/" + s.tagLimit, "/concurrency-limits-v2/concurrency-limit-v2/" + s.limit,
		"/artifacts", "/artifacts/key/report", "/artifacts/artifact/" + s.artifact, "/variables",
		"/work-pools", "/work-pools/create", "/work-pools/work-pool/pool", "/work-pools/work-pool/pool/edit", "/work-pools/work-pool/pool/queue/high",
		"/work-pools/work-pool/pool/queue/create", "/work-pools/work-pool/pool/queue/high/edit", "/automations", "/automations/create",
		"/automations/automation/" + s.automation, "/automations/automation/" + s.automation + "/edit", "/events", "/settings",
	}
}

// pathsOfV2 returns the paths of all pages of v2, with their tabs.
func (s stock) pathsOfV2() []string {
	flow, deployment, run, task := "/flows/flow/"+s.flow, "/deployments/deployment/"+s.deployment, "/runs/flow-run/"+s.run, "/runs/task-run/"+s.task
	artifact, pool, queue := "/artifacts/artifact/"+s.artifact, "/work-pools/work-pool/pool", "/work-pools/work-pool/pool/queue/high"
	paths := []string{
		"/", "/dashboard", "/artifacts", "/artifacts/key/report", "/automations", "/automations/create",
		"/automations/automation/" + s.automation, "/automations/automation/" + s.automation + "/edit",
		"/blocks", "/blocks/block/" + s.block, "/blocks/block/" + s.block + "/edit",
		"/blocks/catalog", "/blocks/catalog/secret", "/blocks/catalog/secret/create", "/blocks/catalog/s3-bucket/create",
		"/concurrency-limits/concurrency-limit/" + s.tagLimit + "?tab=active-task-runs",
		"/deployments", deployment + "/edit", deployment + "/duplicate", deployment + "/run", "/events", "/flows",
		"/flow-runs/flow-run/" + s.run, "/flow-runs/task-run/" + s.task, "/settings", "/variables",
		"/work-pools", "/work-pools/create", pool + "/edit", pool + "/queue/create", queue, queue + "/edit",
	}
	for path, tabs := range map[string][]string{
		"/concurrency-limits": {"global", "task-run"}, "/runs": {"flow-runs", "task-runs"},
		flow: {"runs", "deployments", "details"}, deployment: {"Details", "Runs", "Upcoming", "Parameters", "Configuration", "Description"},
		run:      {"Logs", "TaskRuns", "SubflowRuns", "Artifacts", "Details", "Parameters", "JobVariables"},
		task:     {"Logs", "Artifacts", "TaskInputs", "Details"},
		artifact: {"Artifact", "Details", "Raw"}, pool: {"Details", "Runs", "Work%20Queues", "Workers", "Deployments"},
	} {
		for _, tab := range tabs {
			paths = append(paths, path+"?tab="+tab)
		}
	}
	slices.Sort(paths)
	return paths
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
