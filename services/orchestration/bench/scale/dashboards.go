package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/runlist"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// combined are typical bodies of a dashboard: several conditions, time windows, related resources, other sort orders.
// Their pages are small enough for the small store to fill them.
func combined() []string {
	quote := func(kind string, n int) string { return `"` + known(kind, n).String() + `"` }
	from := func(d time.Duration) string { return `"` + newest.Add(-d).Format(time.RFC3339) + `"` }
	deployment := `"deployment_id":{"any_":[` + quote("deployment", 3) + `]}`
	failed := `"state":{"type":{"any_":["FAILED","CRASHED"]}}`
	completed := `"state":{"type":{"any_":["COMPLETED"]}}`
	hour := `"expected_start_time":{"after_":` + from(time.Hour) + `}`
	bygone := `"expected_start_time":{"after_":` + from(160*time.Minute) + `,"before_":` + from(150*time.Minute) + `}`
	return append(pastAndUpcoming(), []string{
		`{"flow_runs":{` + hour + `,` + failed + `}}`,
		`{"flow_runs":{` + hour + `,"state":{"name":{"any_":["Completed","Failed"]}},"tags":{"all_":["tag-3"]}}}`,
		`{"flow_runs":{` + bygone + `}}`,
		`{"flow_runs":{` + bygone + `,` + failed + `}}`,
		`{"flow_runs":{` + bygone + `},"sort":"NAME_ASC"}`,
		`{"flow_runs":{` + deployment + `,` + failed + `}}`,
		`{"flow_runs":{` + deployment + `,"state":{"type":{"any_":["SCHEDULED"]}}},"sort":"EXPECTED_START_TIME_ASC"}`,
		`{"flow_runs":{` + deployment + `,` + completed + `},"sort":"EXPECTED_START_TIME_DESC"}`,
		`{"flow_runs":{` + deployment + `,` + completed + `,"tags":{"any_":["tag-1","tag-4"]}}}`,
		`{"flow_runs":{` + deployment + `,` + hour + `}}`,
		`{"flow_runs":{` + failed + `},"sort":"NAME_ASC"}`,
		`{"flow_runs":{"work_queue_name":{"any_":["queue-3","queue-4"]},` + failed + `}}`,
		`{"work_pool_queues":{"name":{"any_":["queue-3"]}}}`,
		`{"work_pool_queues":{"name":{"any_":["queue-3"]}},"flow_runs":{` + failed + `,` + hour + `}}`,
		`{"work_pool_queues":{"name":{"any_":["queue-3"]}},"sort":"EXPECTED_START_TIME_DESC"}`,
		`{"deployments":{"name":{"like_":"deployment-1"}},"flow_runs":{"state":{"type":{"not_any_":["COMPLETED"]}}}}`,
		`{"flows":{"name":{"like_":"flow-1"}},"flow_runs":{` + completed + `}}`,
		`{"flow_runs":{"name":{"like_":"run-7007"}}}`,
		`{"flow_runs":{"name":{"like_":"amber-f"}}}`,
		`{"flow_runs":{"name":{"like_":"e"},"state":{"type":{"any_":["CRASHED"]}}}}`,
		`{"flow_runs":{"name":{"like_":"absent"}}}`,
	}...)
}

// pastAndUpcoming are the two lists of runs on the page of a deployment, of a flow and of a work pool.
func pastAndUpcoming() []string {
	var bodies []string
	one := func(value string) map[string]any { return map[string]any{"any_": []string{value}} }
	for _, related := range []map[string]any{
		{"deployments": map[string]any{"id": one(known("deployment", 3).String())}},
		{"flows": map[string]any{"id": one(known("flow", 3).String())}},
		{"work_pools": map[string]any{"name": one("pool-1")}},
	} {
		for _, list := range []runlist.List{runlist.Past(), runlist.Upcoming()} {
			body, err := json.Marshal(list.Query(related))
			if err != nil {
				panic(err) // Maps of texts are JSON.
			}
			bodies = append(bodies, string(body))
		}
	}
	return bodies
}

// related are filters of flows by their runs. As many flows match in a small and in a large store.
func related() []string {
	return []string{
		`{"flow_runs":{"state":{"type":{"any_":["FAILED"]}}}}`,
		`{"flow_runs":{"state":{"type":{"any_":["FAILED","CRASHED","RUNNING"]}}}}`,
		`{"flow_runs":{"state":{"type":{"any_":["FAILED"]}},"expected_start_time":{"after_":"` + newest.Add(-time.Hour).Format(time.RFC3339) + `"}}}`,
	}
}

// dashboards returns the questions of several conditions.
func dashboards() ([]question, error) {
	var all []question
	add := func(name string, own query.Collection, body proto.Message, text string, count bool) error {
		if err := restjson.Unmarshal([]byte(text), body); err != nil {
			return fmt.Errorf("parse query %s: %w", text, err)
		}
		q := question{name: name, own: own, body: body}
		if sorted, ok := body.(interface{ GetSort() orchv1.FlowRunSort }); ok {
			q.order = sorted.GetSort()
		}
		all = append(all, q)
		if count {
			all = append(all, question{name: "count " + name, own: own, body: body, count: true})
		}
		return nil
	}
	for i, f := range related() {
		if err := add(fmt.Sprintf("flow %d: %s", i+1, naming.Replace(f)), query.Flow, &orchv1.FlowQuery{}, f, true); err != nil {
			return nil, err
		}
	}
	for i, f := range combined() {
		sorted := strings.Contains(f, `"sort"`)
		text := f
		if !sorted {
			text = strings.TrimSuffix(f, "}") + `,"sort":"START_TIME_DESC"}`
		}
		if err := add(fmt.Sprintf("together %d: %s", i+1, naming.Replace(f)), query.FlowRun, &orchv1.FlowRunQuery{}, text, !sorted); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// naming shortens a body to its distinguishing part.
var naming = strings.NewReplacer(
	`"flow_runs":{`, "", `"`, "", "any_:", "", "{[", "[", "]}", "]", "_start_time", "", "EXPECTED_START_TIME", "EXPECTED", "deployment_id", "deployment",
	"work_pool_queues", "queues", "work_queue_name", "queue", known("deployment", 3).String(), "3", "2026-11-21T", "", ":00Z", "", "sort:", "by ",
)
