package pages

import (
	"fmt"

	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// deploymentPages are the list of deployments, the page of one, and its run form.
func deploymentPages() []page.Page {
	return []page.Page{
		{
			Pattern: "/deployments",
			Section: "/deployments",
			Needs:   []string{orchv1.DeploymentService_ReadDeployments_FullMethodName},
			Uses:    []string{orchv1.FlowService_ReadFlows_FullMethodName},
			Show:    showDeployments,
		},
		{
			Pattern: "/deployments/deployment/{id}",
			Section: "/deployments",
			Needs:   []string{orchv1.DeploymentService_ReadDeployment_FullMethodName},
			Uses: append([]string{
				orchv1.FlowService_ReadFlow_FullMethodName, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, orchv1.UiScheduleService_PreviewSchedule_FullMethodName,
				orchv1.BackfillService_ReadBackfills_FullMethodName,
			}, runRowCalls...),
			Show: showDeployment,
			Actions: append(backfillActions(), []page.Action{
				{
					Name: "pause-deployment", Calls: []string{orchv1.DeploymentService_PauseDeployment_FullMethodName},
					Done: "The deployment is paused: its schedules create no runs.", Do: simpleAction("pause-deployment", orchv1.DeploymentService_PauseDeployment_FullMethodName),
				},
				{
					Name: "resume-deployment", Calls: []string{orchv1.DeploymentService_ResumeDeployment_FullMethodName},
					Done: "The deployment is active again.", Do: simpleAction("resume-deployment", orchv1.DeploymentService_ResumeDeployment_FullMethodName),
				},
				{
					Name: "delete-deployment", Calls: []string{orchv1.DeploymentService_DeleteDeployment_FullMethodName},
					Done: "The deployment is deleted.", Do: deleteDeployment,
				},
				{
					Name: "switch-schedule", Calls: []string{orchv1.DeploymentService_UpdateDeploymentSchedule_FullMethodName},
					Done: "The schedule is changed.", Do: switchSchedule,
				},
				{Name: "schedule-create", Calls: []string{orchv1.DeploymentService_CreateDeploymentSchedules_FullMethodName}, Done: "The schedule is added.", Do: createSchedule},
				{Name: "deployment-edit", Calls: []string{orchv1.DeploymentService_UpdateDeployment_FullMethodName}, Done: "The deployment is changed.", Do: editDeployment},
			}...),
		},
		deploymentRunPage(), schedulePage(),
	}
}

// simpleAction calls an rpc with the page's id and shows the page again.
func simpleAction(name, rpc string) func(*page.Request) (page.View, error) {
	return func(r *page.Request) (page.View, error) {
		if err := r.Call(apicall.New[*emptypb.Empty](rpc, apicall.ID(r.Vars["id"]))); err != nil {
			return page.View{}, err
		}
		return r.Done(r.Here(), name, -1), nil
	}
}

func showDeployments(r *page.Request) (page.View, error) {
	body, q, skip, err := listBody(r, "deployments", "NAME_ASC")
	if err != nil {
		return page.View{}, err
	}
	deployments := apicall.New[*orchv1.DeploymentList](orchv1.DeploymentService_ReadDeployments_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(deployments); err != nil {
		return page.View{}, err
	}
	list, more := cut(deployments.Result().GetDeployments(), param50)
	var flowIDs []string
	for _, d := range list {
		flowIDs = append(flowIDs, d.GetFlowId())
	}
	flows := apicall.New[*orchv1.FlowList](orchv1.FlowService_ReadFlows_FullMethodName, apicall.Input{Body: apicall.JSON{"flows": apicall.JSON{"id": any_(unique(flowIDs))}}})
	if len(list) > 0 {
		_ = r.Call(flows) // The page shows ids instead of names.
	}
	v := listView{Title: "Deployments", Search: true, Q: q, Path: r.Path(), Table: *deploymentTable(r, list, flowNames(flows.Result()))}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	return page.View{Title: "Deployments", Template: "list.html", Data: v}, nil
}

// deploymentTable lists deployments, with their flows if names are given.
func deploymentTable(r *page.Request, list []*orchv1.Deployment, flows map[string]string) *table {
	t := &table{Columns: []string{"Deployment", "Status", "Schedules", "Work pool", "Tags"}, Empty: "No deployment."}
	if flows != nil {
		t.Columns = append([]string{"Flow"}, t.Columns...)
	}
	for _, d := range list {
		cells := []cell{
			link(r.To("deployments", "deployment", d.GetId()), d.GetName()), text(deploymentStatus(d)),
			text(scheduleSummary(d)), text(d.GetWorkPoolName()), mark(show.Tags(d.GetTags())),
		}
		if flows != nil {
			name := flows[d.GetFlowId()]
			if name == "" {
				name = d.GetFlowId()
			}
			cells = append([]cell{link(r.To("flows", "flow", d.GetFlowId()), name)}, cells...)
		}
		t.add(cells...)
	}
	return t
}

func deploymentStatus(d *orchv1.Deployment) string {
	switch {
	case d.GetPaused():
		return "Paused"
	case d.GetStatus() == orchv1.DeploymentStatus_DEPLOYMENT_STATUS_READY:
		return "Ready"
	}
	return "Not ready"
}

func scheduleSummary(d *orchv1.Deployment) string {
	switch schedules := d.GetSchedules(); len(schedules) {
	case 0:
		return ""
	case 1:
		return scheduleText(schedules[0].GetSchedule())
	default:
		return fmt.Sprintf("%d schedules", len(schedules))
	}
}

// scheduleText describes a schedule in a few words.
func scheduleText(s *orchv1.Schedule) string {
	switch kind := s.GetKind().(type) {
	case *orchv1.Schedule_Cron:
		return kind.Cron.GetCron() + " " + kind.Cron.GetTimezone()
	case *orchv1.Schedule_Interval:
		return "every " + show.Duration(kind.Interval.GetInterval().AsDuration())
	case *orchv1.Schedule_Rrule:
		return kind.Rrule.GetRrule() + " " + kind.Rrule.GetTimezone()
	}
	return ""
}

func showDeployment(r *page.Request) (page.View, error) {
	deployment := apicall.New[*orchv1.Deployment](orchv1.DeploymentService_ReadDeployment_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(deployment); err != nil {
		return page.View{}, err
	}
	d := deployment.Result()
	flow := apicall.New[*orchv1.Flow](orchv1.FlowService_ReadFlow_FullMethodName, apicall.ID(d.GetFlowId()))
	runs := newRunLists(apicall.JSON{"deployments": apicall.JSON{"id": any_([]string{d.GetId()})}}, "deployment", d.GetId())
	backfills := apicall.New[*orchv1.BackfillList](orchv1.BackfillService_ReadBackfills_FullMethodName, apicall.Input{
		Body: apicall.JSON{"deployment_id": d.GetId(), "limit": shownBackfills},
	})
	_ = r.Call(flow, runs.past, runs.upcoming, backfills) // A panel reports the error of its own call.
	flowName := flow.Result().GetName()
	if flowName == "" {
		flowName = d.GetFlowId()
	}
	v := detailView{
		Kind: "Deployment", Title: show.Line(d.GetName(), 80), ID: show.ID(d.GetId()), Description: show.Markdown(d.GetDescription()),
		Pairs: pairs(
			pair{"Flow", link(r.To("flows", "flow", d.GetFlowId()), flowName)},
			pair{"Status", text(deploymentStatus(d))},
			pair{"Last runs", mark(runs.strip(r))},
			pair{"Work pool", poolLink(r, d)},
			pair{"Work queue", optionalText(d.WorkQueueName)},
			pair{"Concurrency", count64(d.GetGlobalConcurrencyLimit().GetLimit())},
			pair{"Entrypoint", optionalText(d.Entrypoint)},
			pair{"Version", optionalText(d.Version)},
			pair{"Tags", mark(show.Tags(d.GetTags()))},
			pair{"Last polled", timeCell(r, d.GetLastPolled())},
			pair{"Updated", timeCell(r, d.GetUpdated())},
		),
		Panels: append([]panel{schedulePanel(r, d), backfillPanel(r, backfills)}, runs.panels(r)...),
	}
	if len(d.GetParameters()) > 2 {
		v.Panels = append(v.Panels, panel{Title: "Parameters", Body: show.JSON(d.GetParameters())})
	}
	if r.May(orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName) {
		v.Links = append(v.Links, tab{Title: "Run", Path: r.To("deployments", "deployment", d.GetId(), "run")})
	}
	switch {
	case d.GetPaused() && r.May(orchv1.DeploymentService_ResumeDeployment_FullMethodName):
		v.Buttons = append(v.Buttons, button{Action: "resume-deployment", Title: "Resume"})
	case !d.GetPaused() && r.May(orchv1.DeploymentService_PauseDeployment_FullMethodName):
		v.Buttons = append(v.Buttons, button{Action: "pause-deployment", Title: "Pause"})
	}
	v.Forms = deploymentForms(r, d)
	if r.May(orchv1.DeploymentService_DeleteDeployment_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "delete-deployment", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

func poolLink(r *page.Request, d *orchv1.Deployment) cell {
	if d.WorkPoolName == nil {
		return cell{}
	}
	return link(r.To("work-pools", "work-pool", d.GetWorkPoolName()), d.GetWorkPoolName())
}

// count64 is a count without alignment; zero is absent.
func count64(n int64) cell {
	if n == 0 {
		return cell{}
	}
	return text(show.Count(n))
}

func deleteDeployment(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		deployment := apicall.New[*orchv1.Deployment](orchv1.DeploymentService_ReadDeployment_FullMethodName, apicall.ID(r.Vars["id"]))
		if err := r.Call(deployment); err != nil {
			return page.View{}, err
		}
		return confirm(r, confirmView{
			Title: "Delete the deployment?", Text: "The deployment " + show.Line(deployment.Result().GetName(), 80) + ", its schedules and its scheduled runs are deleted. Past runs stay.",
			Button: "Delete", Action: "delete-deployment",
		}), nil
	}
	if err := r.Call(apicall.New[*emptypb.Empty](orchv1.DeploymentService_DeleteDeployment_FullMethodName, apicall.ID(r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("deployments"), "delete-deployment", -1), nil
}
