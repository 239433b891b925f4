package pages

import (
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

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
			Actions: []page.Action{
				{Name: "flow-edit", Calls: []string{orchv1.FlowService_UpdateFlow_FullMethodName}, Done: "The flow is changed.", Do: editFlow},
				{Name: "flow-delete", Calls: []string{orchv1.FlowService_DeleteFlow_FullMethodName}, Done: "The flow is deleted.", Do: deleteFlow},
			},
		},
	}
}

// listBody is the body of a list's call: the filter of names, the order and the page.
func listBody(r *page.Request, field, sort string) (body apicall.JSON, q string, skip int, err error) {
	q, skip = r.Text("q"), r.Int("skip", 0, 1_000_000, 0)
	body = apicall.JSON{"sort": sort, "limit": param50 + 1, "offset": skip}
	if sort == "" {
		delete(body, "sort")
	}
	if q != "" {
		body[field] = apicall.JSON{"name": apicall.JSON{"like_": q}}
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
	flows := apicall.New[*orchv1.FlowList](orchv1.FlowService_ReadFlows_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(flows); err != nil {
		return page.View{}, err
	}
	list, more := cut(flows.Result().GetFlows(), param50)
	var ids []string
	for _, f := range list {
		ids = append(ids, f.GetId())
	}
	deployments := apicall.New[*orchv1.CountsById](orchv1.UiFlowService_CountDeploymentsByFlow_FullMethodName, apicall.Input{Body: apicall.JSON{"flow_ids": ids}})
	next := apicall.New[*orchv1.NextRuns](orchv1.UiFlowService_NextRunsByFlow_FullMethodName, apicall.Input{Body: apicall.JSON{"flow_ids": ids}})
	if len(ids) > 0 {
		_ = r.Call(deployments, next) // Without them the columns are empty.
	}
	v := listView{Title: "Flows", Search: true, Q: q, Path: r.Path(), Table: table{Columns: []string{"Flow", "Deployments", "Next run", "Tags", "Created"}, Empty: "No flow yet. A flow appears with its first run or deployment."}}
	for _, f := range list {
		v.Table.add(link(r.To("flows", "flow", f.GetId()), f.GetName()), count(deployments.Result().GetCounts()[f.GetId()]),
			timeCell(r, next.Result().GetRuns()[f.GetId()].GetRun().GetNextScheduledStartTime()), mark(show.Tags(f.GetTags())), timeCell(r, f.GetCreated()))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	return page.View{Title: "Flows", Template: "list.html", Data: v}, nil
}

func showFlow(r *page.Request) (page.View, error) {
	flow := apicall.New[*orchv1.Flow](orchv1.FlowService_ReadFlow_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(flow); err != nil {
		return page.View{}, err
	}
	f := flow.Result()
	runs := newRunLists(apicall.JSON{"flows": apicall.JSON{"id": any_([]string{f.GetId()})}}, "flow", f.GetId())
	deployments := apicall.New[*orchv1.DeploymentList](orchv1.DeploymentService_ReadDeployments_FullMethodName, apicall.Input{Body: apicall.JSON{
		"flows": apicall.JSON{"id": any_([]string{f.GetId()})}, "limit": param50,
	}})
	_ = r.Call(runs.past, runs.upcoming, deployments) // Each panel says what it misses.
	v := detailView{
		Kind: "Flow", Title: show.Line(f.GetName(), 80), ID: show.ID(f.GetId()),
		Pairs: pairs(pair{"Last runs", mark(runs.strip(r))}, pair{"Tags", mark(show.Tags(f.GetTags()))}, pair{"Created", timeCell(r, f.GetCreated())}),
		Panels: append([]panel{
			{Title: "Deployments", Table: deploymentTable(r, deployments.Result().GetDeployments(), nil), Problem: page.Problem(deployments.Err())},
		}, runs.panels(r)...),
	}
	if r.May(orchv1.FlowService_UpdateFlow_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "Settings", Action: "flow-edit", Button: "Save the flow", Fields: []field{tagsField(f.GetTags())}, Hidden: versionField(f.GetUpdated())})
	}
	if r.May(orchv1.FlowService_DeleteFlow_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "flow-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func editFlow(r *page.Request) (page.View, error) {
	flow := apicall.New[*orchv1.Flow](orchv1.FlowService_ReadFlow_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(flow); err != nil {
		return page.View{}, err
	}
	if changedMeanwhile(r, flow.Result().GetUpdated()) {
		return conflictingForm(r, showFlow)
	}
	in := apicall.Input{Path: map[string]string{"id": r.Vars["id"]}, Body: apicall.JSON{"tags": tagList(r.Field("tags"))}}
	if err := r.Call(changed(orchv1.FlowService_UpdateFlow_FullMethodName, in)); err != nil {
		return refusedForm(r, showFlow, err)
	}
	return r.Done(r.Path(), "flow-edit", -1), nil
}

func deleteFlow(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the flow?", Action: "flow-delete", Button: "Delete the flow", Text: "Its deployments and their schedules, its runs and their task runs are deleted.",
		}), nil
	}
	if err := r.Call(changed(orchv1.FlowService_DeleteFlow_FullMethodName, apicall.ID(r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("flows"), "flow-delete", -1), nil
}
