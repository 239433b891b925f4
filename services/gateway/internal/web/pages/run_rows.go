package pages

import (
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// runRow is a flow run in a table.
type runRow struct {
	ID, Name, Link           string
	State, Start, Took, Tags markup.Markup
	Flow                     markup.Markup
	Tasks                    string
	Message                  string
}

// clockOf returns the formatter of a page's times.
func clockOf(r *page.Request) show.Clock { return show.Clock{Now: r.Now, Zone: r.Zone} }

// startOf returns when a run started or is expected to.
func startOf(run *orchv1.FlowRun) time.Time {
	switch {
	case run.StartTime != nil:
		return run.GetStartTime().AsTime()
	case run.ExpectedStartTime != nil:
		return run.GetExpectedStartTime().AsTime()
	}
	return time.Time{}
}

// runRows builds the rows of a table and looks up the names of flows, and the counts of tasks if the table shows them.
func runRows(r *page.Request, runs []*orchv1.FlowRun, withTasks bool) []runRow {
	if len(runs) == 0 {
		return nil
	}
	var ids, flowIDs []string
	for _, run := range runs {
		ids, flowIDs = append(ids, run.GetId()), append(flowIDs, run.GetFlowId())
	}
	flows := apicall.New[*orchv1.FlowList](orchv1.FlowService_ReadFlows_FullMethodName, apicall.Input{
		Body: apicall.JSON{"flows": apicall.JSON{"id": any_(unique(flowIDs))}},
	})
	tasks := apicall.New[*orchv1.CountsById](orchv1.UiFlowService_CountTaskRunsByFlowRun_FullMethodName, apicall.Input{
		Body: apicall.JSON{"flow_run_ids": ids},
	})
	calls := []apicall.Call{flows}
	if withTasks {
		calls = append(calls, tasks)
	}
	_ = r.Call(calls...) // Without them the table has ids and no counts.
	names := flowNames(flows.Result())
	clock := clockOf(r)
	rows := make([]runRow, 0, len(runs))
	for _, run := range runs {
		row := runRow{
			ID: run.GetId(), Name: show.Line(run.GetName(), 60), Link: r.To("runs", "flow-run", run.GetId()),
			State: show.State(run.GetStateType(), run.GetStateName()), Start: clock.At(startOf(run)),
			Took: show.Seconds(run.GetEstimatedRunTime()), Tags: show.Tags(run.GetTags()),
			Message: show.Line(run.GetState().GetMessage(), 160),
		}
		if name := names[run.GetFlowId()]; name != "" {
			row.Flow = show.Link(r.To("flows", "flow", run.GetFlowId()), name)
		}
		if count := tasks.Result().GetCounts()[run.GetId()]; count > 0 {
			row.Tasks = show.Count(count)
		}
		rows = append(rows, row)
	}
	return rows
}

// flowNames returns the names of flows by id.
func flowNames(flows *orchv1.FlowList) map[string]string {
	names := map[string]string{}
	for _, flow := range flows.GetFlows() {
		names[flow.GetId()] = flow.GetName()
	}
	return names
}

// runRowCalls are the rpcs of runRows.
var runRowCalls = []string{
	orchv1.FlowService_ReadFlows_FullMethodName,
	orchv1.UiFlowService_CountTaskRunsByFlowRun_FullMethodName,
}

func unique(values []string) []string {
	seen := map[string]bool{}
	var distinct []string
	for _, v := range values {
		if v != "" && !seen[v] {
			seen[v] = true
			distinct = append(distinct, v)
		}
	}
	return distinct
}
