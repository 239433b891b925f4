package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// question is a body of /flow_runs/filter, with count of /flow_runs/count, and with flows of /flows/filter.
type question struct {
	name, body   string
	count, flows bool
	// grows marks a query that must read every match or every key, because no index covers its conditions. It is
	// printed without a bound.
	grows bool
}

// sorts are the sort orders of /flow_runs/filter.
var sorts = []string{
	"ID_DESC", "START_TIME_ASC", "START_TIME_DESC", "EXPECTED_START_TIME_ASC", "EXPECTED_START_TIME_DESC", "NAME_ASC", "NAME_DESC",
	"NEXT_SCHEDULED_START_TIME_ASC", "END_TIME_DESC", "CREATED_DESC",
}

// filters are the filters of /flow_runs/filter, each with every operator that has its own cost.
func filters() []string {
	window := newest.Add(-time.Hour).Format(time.RFC3339)
	quote := func(kind string, n int) string { return `"` + known(kind, n).String() + `"` }
	own := []string{
		`"id":{"any_":[` + quote("run", 7) + `,` + quote("run", 77) + `]}`,
		`"id":{"not_any_":[` + quote("run", 7) + `]}`,
		`"name":{"any_":["run-17"]}`,
		`"name":{"like_":"run-1"}`,
		`"tags":{"all_":["bench","tag-3"]}`,
		`"tags":{"any_":["tag-1","tag-2"]}`,
		`"deployment_id":{"any_":[` + quote("deployment", 3) + `]}`,
		`"deployment_id":{"is_null_":true}`,
		`"work_queue_name":{"any_":["queue-3"]}`,
		`"state":{"type":{"any_":["FAILED","SCHEDULED"]}}`,
		`"state":{"type":{"not_any_":["COMPLETED"]}}`,
		`"state":{"name":{"any_":["Failed"]}}`,
		`"flow_version":{"any_":["v1"]}`,
		`"start_time":{"after_":"` + window + `"}`,
		`"start_time":{"is_null_":true}`,
		`"end_time":{"after_":"` + window + `"}`,
		`"expected_start_time":{"after_":"` + window + `"}`,
		`"next_scheduled_start_time":{"after_":"` + window + `"}`,
		`"parent_task_run_id":{"any_":[` + quote("task", 1) + `]}`,
		`"idempotency_key":{"any_":["key-17"]}`,
	}
	list := []string{`{}`}
	for _, f := range own {
		list = append(list, `{"flow_runs":{`+f+`}}`)
	}
	return append(list, `{"flows":{"name":{"any_":["flow-3"]}}}`, `{"flows":{"id":{"any_":[`+quote("flow", 3)+`]}}}`)
}

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
	return []string{
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
	}
}

// related are filters of flows by their runs. As many flows match in a small and in a large store.
func related() []string {
	return []string{
		`{"flow_runs":{"state":{"type":{"any_":["FAILED"]}}}}`,
		`{"flow_runs":{"state":{"type":{"any_":["FAILED","CRASHED","RUNNING"]}}}}`,
		`{"flow_runs":{"state":{"type":{"any_":["FAILED"]}},"expected_start_time":{"after_":"` + newest.Add(-time.Hour).Format(time.RFC3339) + `"}}}`,
	}
}

// growing are the filters without a counter. Their pages end early, because many runs match; a count reads the key of
// each.
var growing = []string{`"not_any_"`, `"like_"`, `"tags"`, `"flow_version"`}

func questions() []question {
	var list []question
	for _, sort := range sorts {
		list = append(list, question{name: "all by " + sort, body: `{"limit":200,"sort":"` + sort + `"}`})
	}
	for _, f := range filters() {
		inner := f[1 : len(f)-1]
		if inner != "" {
			inner += ","
		}
		unindexed := slices.ContainsFunc(growing, func(g string) bool { return strings.Contains(f, g) })
		short := f
		if len(short) > 50 {
			short = short[:50]
		}
		list = append(list,
			question{name: short, body: `{` + inner + `"limit":200,"sort":"START_TIME_DESC"}`},
			question{name: "count " + short, body: f, count: true, grows: unindexed})
	}
	// No index finds names by substring: the query reads every key.
	list = append(list, question{name: "a rare part of names", body: `{"flow_runs":{"name":{"like_":"run-7007"}},"limit":200,"sort":"START_TIME_DESC"}`, grows: true})
	for _, f := range related() {
		list = append(list, question{name: "flows by " + naming.Replace(f), body: f, flows: true})
	}
	for i, f := range combined() {
		name := fmt.Sprintf("together %d: %s", i+1, naming.Replace(f))
		sort := `,"sort":"START_TIME_DESC"`
		if strings.Contains(f, `"sort"`) {
			sort = ""
		} else {
			list = append(list, question{name: "count " + name, body: f, count: true, grows: true})
		}
		list = append(list, question{name: name, body: strings.TrimSuffix(f, "}") + `,"limit":20` + sort + `}`})
	}
	return list
}

// naming shortens a body to its distinguishing part.
var naming = strings.NewReplacer(
	`"flow_runs":{`, "", `"`, "", "any_:", "", "{[", "[", "]}", "]", "_start_time", "", "EXPECTED_START_TIME", "EXPECTED", "deployment_id", "deployment",
	"work_pool_queues", "queues", "work_queue_name", "queue", known("deployment", 3).String(), "3", "2026-11-21T", "", ":00Z", "", "sort:", "by ",
)

// ask runs a query through the service, as the gateway does.
func (w *world) ask(ctx context.Context, q question) error {
	ctx = request.Outgoing(ctx, request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace})
	if q.count {
		body := &orchv1.FlowRunCountQuery{}
		if err := restjson.Unmarshal([]byte(q.body), body); err != nil {
			return fmt.Errorf("parse query: %w", err)
		}
		_, err := w.call(ctx, orchv1.FlowRunService_CountFlowRuns_FullMethodName, &orchv1.CountFlowRunsRequest{Query: body})
		return err
	}
	if q.flows {
		body := &orchv1.FlowQuery{}
		if err := restjson.Unmarshal([]byte(q.body), body); err != nil {
			return fmt.Errorf("parse query: %w", err)
		}
		answer, err := w.call(ctx, orchv1.FlowService_ReadFlows_FullMethodName, &orchv1.ReadFlowsRequest{Query: body})
		if err == nil && len(answer.(*orchv1.FlowList).GetFlows()) == 0 {
			return errors.New("query matches nothing")
		}
		return err
	}
	body := &orchv1.FlowRunQuery{}
	if err := restjson.Unmarshal([]byte(q.body), body); err != nil {
		return fmt.Errorf("parse query: %w", err)
	}
	answer, err := w.call(ctx, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, &orchv1.ReadFlowRunsRequest{Query: body})
	if err != nil {
		return err
	}
	if len(answer.(*orchv1.FlowRunList).GetFlowRuns()) == 0 {
		return errors.New("query matches nothing")
	}
	return nil
}

func (w *world) call(ctx context.Context, method string, r proto.Message) (proto.Message, error) {
	answer, _, err := w.calls.Call(ctx, method, r)
	return answer, err
}
