package pages

import (
	"slices"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/ask"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// stripRuns is the number of runs in the strip of a flow or deployment.
const stripRuns = 50

// flowPages are the list of flows and the page of one.
func flowPages() []page.Page {
	return []page.Page{
		{
			Pattern: "/flows",
			Section: "/flows",
			Needs:   []string{orchv1.FlowService_ReadFlows_FullMethodName},
			Uses:    []string{orchv1.UiFlowService_CountDeploymentsByFlow_FullMethodName, orchv1.UiFlowService_NextRunsByFlow_FullMethodName},
			Show:    showFlows,
		},
		{
			Pattern: "/flows/flow/{id}",
			Section: "/flows",
			Needs:   []string{orchv1.FlowService_ReadFlow_FullMethodName},
			Uses: append([]string{
				orchv1.FlowRunService_ReadFlowRuns_FullMethodName, orchv1.DeploymentService_ReadDeployments_FullMethodName,
			}, runRowCalls...),
			Show: showFlow,
		},
	}
}

// listBody is the body of a list's call: the filter of names, the order and the page.
func listBody(r *page.Request, field, sort string) (body ask.JSON, q string, skip int, err error) {
	q, skip = r.Text("q"), r.Int("skip", 0, 1_000_000, 0)
	body = ask.JSON{"sort": sort, "limit": param50 + 1, "offset": skip}
	if sort == "" {
		delete(body, "sort")
	}
	if q != "" {
		body[field] = ask.JSON{"name": ask.JSON{"like_": q}}
	}
	return body, q, skip, r.Err()
}

// param50 is the number of rows of the simple lists.
const param50 = 50

func showFlows(r *page.Request) (page.View, error) {
	body, q, skip, err := listBody(r, "flows", "NAME_ASC")
	if err != nil {
		return page.View{}, err
	}
	flows := ask.New[*orchv1.FlowList](orchv1.FlowService_ReadFlows_FullMethodName, ask.Input{Body: body})
	if err := r.Ask(flows); err != nil {
		return page.View{}, err
	}
	list, more := cut(flows.Answer().GetFlows(), param50)
	var ids []string
	for _, f := range list {
		ids = append(ids, f.GetId())
	}
	deployments := ask.New[*orchv1.CountsById](orchv1.UiFlowService_CountDeploymentsByFlow_FullMethodName, ask.Input{Body: ask.JSON{"flow_ids": ids}})
	next := ask.New[*orchv1.NextRuns](orchv1.UiFlowService_NextRunsByFlow_FullMethodName, ask.Input{Body: ask.JSON{"flow_ids": ids}})
	if len(ids) > 0 {
		_ = r.Ask(deployments, next) // Without them the columns are empty.
	}
	v := listView{Title: "Flows", Search: true, Q: q, Path: r.Path(), Table: table{Columns: []string{"Flow", "Deployments", "Next run", "Tags", "Created"}, Empty: "No flow yet. A flow appears with its first run or deployment."}}
	for _, f := range list {
		v.Table.add(link(r.To("flows", "flow", f.GetId()), f.GetName()), count(deployments.Answer().GetCounts()[f.GetId()]),
			timeCell(r, next.Answer().GetRuns()[f.GetId()].GetRun().GetNextScheduledStartTime()), mark(show.Tags(f.GetTags())), timeCell(r, f.GetCreated()))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	return page.View{Title: "Flows", Template: "list.html", Data: v}, nil
}

func showFlow(r *page.Request) (page.View, error) {
	flow := ask.New[*orchv1.Flow](orchv1.FlowService_ReadFlow_FullMethodName, ask.ID(r.Vars["id"]))
	if err := r.Ask(flow); err != nil {
		return page.View{}, err
	}
	f := flow.Answer()
	runs := ask.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, ask.Input{Body: ask.JSON{
		"flows": ask.JSON{"id": any_([]string{f.GetId()})}, "sort": "EXPECTED_START_TIME_DESC", "limit": stripRuns,
	}})
	deployments := ask.New[*orchv1.DeploymentList](orchv1.DeploymentService_ReadDeployments_FullMethodName, ask.Input{Body: ask.JSON{
		"flows": ask.JSON{"id": any_([]string{f.GetId()})}, "limit": param50,
	}})
	_ = r.Ask(runs, deployments) // Each panel says what it misses.
	v := detailView{
		Kind: "Flow", Title: show.Line(f.GetName(), 80), ID: show.ID(f.GetId()),
		Pairs: pairs(pair{"Last runs", mark(runStrip(r, runs.Answer().GetFlowRuns()))}, pair{"Tags", mark(show.Tags(f.GetTags()))}, pair{"Created", timeCell(r, f.GetCreated())}),
		Panels: []panel{
			{Title: "Deployments", Table: deploymentTable(r, deployments.Answer().GetDeployments(), nil), Problem: page.Problem(deployments.Err())},
			runPanel(r, runs, r.To("runs")+"?from=-30d&flow="+f.GetId()),
		},
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

// runStrip draws the latest runs, given latest first.
func runStrip(r *page.Request, runs []*orchv1.FlowRun) markup.Markup {
	var longest float64
	for _, run := range runs {
		longest = max(longest, run.GetEstimatedRunTime())
	}
	var ticks []chart.Tick
	failed := 0
	for _, run := range slices.Backward(runs) {
		class := strings.ToLower(show.StateWord(run.GetStateType()))
		if class == "failed" || class == "crashed" {
			failed++
		}
		ticks = append(ticks, chart.Tick{
			Class: class, Title: run.GetName() + ": " + run.GetStateName(), Size: run.GetEstimatedRunTime() / max(longest, 1e-9),
			Link: r.To("runs", "flow-run", run.GetId()),
		})
	}
	return chart.Ticks(ticks, show.Plural(int64(len(runs)), "run", "runs")+", "+show.Count(int64(failed))+" failed")
}

// runPanel lists the latest ten of the answered runs.
func runPanel(r *page.Request, runs *ask.Query[*orchv1.FlowRunList], all string) panel {
	list, _ := cut(runs.Answer().GetFlowRuns(), 10)
	t := &table{Columns: []string{"State", "Run", "Start", "Took", "Tasks", "Tags"}, Empty: "No run yet."}
	for _, row := range runRows(r, list, true) {
		took := mark(row.Took)
		took.Number = true
		t.add(mark(row.State), link(row.Link, row.Name), mark(row.Start), took, cell{Text: row.Tasks, Number: true}, mark(row.Tags))
	}
	p := panel{Title: "Last runs", Table: t, Problem: page.Problem(runs.Err())}
	if len(list) > 0 {
		p.More, p.MoreTitle = all, "All runs"
	}
	return p
}
