package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	headers "github.com/orch-project/orch/pkg/request"
)

// request is a request of a client. Without a body it is a GET.
type request struct {
	name, path, body string
	// refused says that a large store refuses the request with a 422, which guarantees.md names.
	refused bool
	// prepare returns the request of a deeper page; nil for none.
	prepare func(address string, r request) (request, error)
}

// newest is the time after the last run of a store, and the names and ids are those of services/orchestration/bench/scale.
var newest = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func known(kind string, n int) string {
	return uuid.NewSHA1(headers.DefaultWorkspace, fmt.Appendf(nil, "%s/%d", kind, n)).String()
}

// ago is a time before the last run, as JSON.
func ago(d time.Duration) string { return `"` + newest.Add(-d).Format(time.RFC3339) + `"` }

func quoted(list ...string) string { return `"` + strings.Join(list, `","`) + `"` }

func ids(kind string, from, step, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = known(kind, from+i*step)
	}
	return quoted(list...)
}

const day = 24 * time.Hour

// requests are those of the stock dashboard (UI), of the SDK and of the command line, for a store of n runs.
func requests(n int) []request {
	window := func(field string, from, until time.Duration) string {
		return `"` + field + `":{"after_":` + ago(from) + `,"before_":` + ago(until) + `}`
	}
	week := window("expected_start_time", 7*day, 0)
	noParent := `"parent_task_run_id":{"operator":"and_","is_null_":true}`
	types := func(list ...string) string { return `"state":{"type":{"any_":[` + quoted(list...) + `]}}` }
	names := `"state":{"name":{"any_":[` + quoted("Scheduled", "Late", "Running", "Failed", "Completed", "Crashed", "Cancelled") + `]}}`
	deployment := func(i int) string { return `"deployments":{"id":{"any_":["` + known("deployment", i) + `"]}}` }
	flow := func(list string) string { return `"flows":{"id":{"any_":[` + list + `]}}` }
	runs := func(criteria ...string) string { return `"flow_runs":{` + strings.Join(criteria, ",") + `}` }
	tasks := func(criteria ...string) string { return `"task_runs":{` + strings.Join(criteria, ",") + `}` }
	body := func(parts ...string) string { return "{" + strings.Join(parts, ",") + "}" }
	sort := func(by string) string { return `"sort":"` + by + `"` }
	last := known("run", n-200)
	hour := window("expected_start_time", day, 0)
	taskDay := window("start_time", day, 0)
	history := func(from time.Duration, step int) string {
		return `"history_start":` + ago(from) + `,"history_end":` + ago(0) + `,"history_interval_seconds":` + fmt.Sprint(step)
	}
	occurred := func(from time.Duration) string {
		return `"occurred":{"since":` + ago(from) + `,"until":` + ago(0) + `}`
	}
	events := func(criteria ...string) string { return `"filter":{` + strings.Join(criteria, ",") + `}` }

	return []request{
		{name: "flow_runs/filter START_TIME_DESC (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"))},
		{name: "flow_runs/filter failed, crashed", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), runs(types("FAILED", "CRASHED")))},
		{name: "flow_runs/filter 7 names, week, no parent (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), runs(names, week, noParent))},
		{name: "flow_runs/filter deployment (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), deployment(3))},
		{name: "flow_runs/filter flow, crashed", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), flow(ids("flow", 3, 1, 1)), runs(types("CRASHED")))},
		{name: "flow_runs/filter 40 flows", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), flow(ids("flow", 0, 1, 40)))},
		{name: "flow_runs/filter 2 tags, week (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), runs(`"tags":{"all_":["bench","tag-3"]}`, week))},
		{name: "flow_runs/filter pool (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), `"work_pools":{"name":{"any_":["pool-1"]}}`)},
		{name: "flow_runs/filter parent runs, NAME_ASC", path: "/flow_runs/filter", body: body(sort("NAME_ASC"), runs(`"parent_task_run_id":{"any_":[`+ids("task", 1, 100, 20)+`]}`))},
		{name: "flow_runs/filter EXPECTED, week, no parent (UI)", path: "/flow_runs/filter", body: body(sort("EXPECTED_START_TIME_DESC"), runs(week, noParent))},
		{name: "flow_runs/filter EXPECTED, flow, failed, week (UI)", path: "/flow_runs/filter", body: body(sort("EXPECTED_START_TIME_DESC"), flow(ids("flow", 3, 1, 1)), runs(types("FAILED"), week))},
		{name: "flow_runs/filter window 27 to 20 days ago (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), runs(window("expected_start_time", 27*day, 20*day)))},
		{name: "flow_runs/filter END_TIME_DESC", path: "/flow_runs/filter", body: body(sort("END_TIME_DESC"))},
		{name: "flow_runs/filter token at the middle", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), runs(window("expected_start_time", 15*day, 0))), prepare: second},
		{name: "flow_runs/filter offset of a fifth, at most 20,000 (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), fmt.Sprintf(`"offset":%d`, min(n/5, 20_000)))},
		{name: "flow_runs/filter name.like_, some hundred (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), runs(`"name":{"like_":"amber-fox"}`))},
		{name: "flow_runs/filter name.like_, none (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), runs(`"name":{"like_":"absent"}`))},
		{name: "flow_runs/count name.like_", path: "/flow_runs/count", body: body(runs(`"name":{"like_":"run-7007"}`))},
		{name: "flow_runs/filter parent_flow_run_id (UI)", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), runs(`"parent_flow_run_id":{"any_":["`+last+`"]}`))},
		{name: "flow_runs/count all", path: "/flow_runs/count", body: "{}"},
		{name: "flow_runs/count types, day, no parent (UI)", path: "/flow_runs/count", body: body(runs(types("COMPLETED", "FAILED", "CRASHED"), hour, noParent))},
		{name: "flow_runs/count types, week, no parent (UI)", path: "/flow_runs/count", body: body(runs(types("COMPLETED", "FAILED", "CRASHED"), week, noParent))},
		{name: "flow_runs/count deployment", path: "/flow_runs/count", body: body(deployment(3))},
		{name: "flow_runs/paginate names, week, no parent (UI)", path: "/flow_runs/paginate", body: body(sort("START_TIME_DESC"), runs(names, week, noParent))},
		{name: "flow_runs/paginate tag", path: "/flow_runs/paginate", body: body(sort("START_TIME_DESC"), runs(`"tags":{"any_":["tag-3"]}`))},
		{name: "flow_runs/history week, hours", path: "/flow_runs/history", body: body(history(7*day, 3600))},
		{name: "ui/flow_runs/history 1,000 points (UI)", path: "/ui/flow_runs/history", body: body(sort("EXPECTED_START_TIME_DESC"), `"limit":1000`, runs(week))},
		{name: "ui/flow_runs/scatter day", path: "/ui/flow_runs/scatter", body: body(`"start":`+ago(day), `"end":`+ago(0))},
		{name: "flows/filter by failed runs", path: "/flows/filter", body: body(runs(types("FAILED")))},
		{name: "flow_runs/filter by failed task runs", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), tasks(types("FAILED")))},
		{name: "flow_runs/filter by a task run's name", path: "/flow_runs/filter", body: body(sort("START_TIME_DESC"), tasks(`"name":{"any_":["run-7007-1"]}`))},
		{name: "task_runs/filter of a run (UI)", path: "/task_runs/filter", body: body(sort("EXPECTED_START_TIME_ASC"), runs(`"id":{"any_":["`+last+`"]}`))},
		{name: "task_runs/filter ID_DESC", path: "/task_runs/filter", body: body(sort("ID_DESC"))},
		{name: "task_runs/paginate of runs of a week (UI)", path: "/task_runs/paginate", body: body(sort("EXPECTED_START_TIME_DESC"), runs(week))},
		{name: "task_runs/filter of scheduled runs", path: "/task_runs/filter", body: body(sort("EXPECTED_START_TIME_DESC"), runs(types("SCHEDULED")))},
		{name: "task_runs/count types, day (UI)", path: "/task_runs/count", body: body(tasks(types("COMPLETED", "FAILED", "CRASHED"), taskDay))},
		{name: "task_runs/count types, day, hide subflows (UI)", path: "/task_runs/count", body: body(tasks(types("COMPLETED", "FAILED", "CRASHED"), taskDay, `"subflow_runs":{"exists_":false}`))},
		{name: "task_runs/count types, day, no parent (UI)", path: "/task_runs/count", body: body(runs(noParent), tasks(types("COMPLETED", "FAILED", "CRASHED"), taskDay))},
		{name: "task_runs/history day (UI)", path: "/task_runs/history", body: body(history(day, 4320), tasks(taskDay))},
		{name: "ui/flow_runs/count-task-runs 100 ids (UI)", path: "/ui/flow_runs/count-task-runs", body: body(`"flow_run_ids":[` + ids("run", n-200, 1, 100) + `]`)},
		{name: "task_runs/filter END_TIME_DESC", path: "/task_runs/filter", body: body(sort("END_TIME_DESC"))},
		{name: "events/filter day (UI)", path: "/events/filter", body: body(events(occurred(day)))},
		{name: "events/filter a run's events", path: "/events/filter", body: body(events(occurred(30*day), `"resource":{"id":["prefect.flow-run.`+last+`"]}`))},
		{name: "events/filter resource.id prefix", path: "/events/filter", body: body(events(occurred(30*day), `"resource":{"id_prefix":["prefect.flow-run."]}`))},
		{name: "events/filter label", path: "/events/filter", body: body(events(occurred(30*day), `"resource":{"labels":{"prefect.resource.name":"amber-fox"}}`))},
		{name: "events/filter second page", path: "/events/filter", body: body(events(occurred(15 * day))), prepare: nextEvents},
		{name: "events/count-by/time days of a month (UI)", path: "/events/count-by/time", body: body(events(occurred(30*day)), `"time_unit":"day","time_interval":1`)},
		{name: "logs/filter of a run, errors (UI)", path: "/logs/filter", body: body(sort("TIMESTAMP_ASC"), `"logs":{"flow_run_id":{"any_":["`+last+`"]},"level":{"ge_":40}}`)},
		{name: "logs/filter errors", path: "/logs/filter", body: body(sort("TIMESTAMP_DESC"), `"logs":{"level":{"ge_":40}}`)},
		{name: "logs/filter text of a run", path: "/logs/filter", body: body(sort("TIMESTAMP_DESC"), `"logs":{"text":{"query":"failed"},"flow_run_id":{"any_":["`+last+`"]}}`)},
		{name: "logs/filter text of all", path: "/logs/filter", body: body(sort("TIMESTAMP_DESC"), `"logs":{"text":{"query":"failed"}}`), refused: 2*n > 100_000},
		{name: "work_pools/pool-1/get_scheduled_flow_runs", path: "/work_pools/pool-1/get_scheduled_flow_runs", body: "{}"},
	}
}

// post sends a request that prepares another one.
func post(address, path, body string, target any) (http.Header, error) {
	response, err := http.Post("http://"+address+"/api"+path, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, fmt.Errorf("post %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }() // It is read.
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("post %s: status %d", path, response.StatusCode)
	}
	if err := json.NewDecoder(response.Body).Decode(target); err != nil {
		return nil, fmt.Errorf("decode response of %s: %w", path, err)
	}
	return response.Header, nil
}

// second is the request for the page behind the first one.
func second(address string, r request) (request, error) {
	var page []json.RawMessage
	header, err := post(address, r.path, r.body, &page)
	if err != nil {
		return r, err
	}
	if token := header.Get(headers.NextPageTokenHeader); token != "" {
		r.body = strings.TrimSuffix(r.body, "}") + `,"` + headers.PageTokenField + `":"` + token + `"}`
	}
	return r, nil
}

// nextEvents is the request for the second page of events.
func nextEvents(address string, r request) (request, error) {
	var page struct {
		NextPage string `json:"next_page"`
	}
	if _, err := post(address, r.path, r.body, &page); err != nil {
		return r, err
	}
	next, err := url.Parse(page.NextPage)
	if err != nil {
		return r, fmt.Errorf("read next page: %w", err)
	}
	r.path, r.body = strings.TrimPrefix(next.RequestURI(), "/api"), ""
	return r, nil
}
