package pages

import (
	"slices"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// flowRunView is the data of all pages of a flow run: the head, and the content of one tab.
type flowRunView struct {
	Title   string
	Badge   markup.Markup
	ID      markup.Markup
	Flow    markup.Markup
	Reason  string
	Failed  bool
	Tabs    []tab
	Buttons []button
	Links   []tab
	// States are the choices of the form that sets a state; empty if the reader may not.
	States   []choice
	Panels   []panel
	Pairs    []pair
	Timeline markup.Markup
	// CriticalPath names the tasks that decided when the run ended.
	CriticalPath string
	// Recent is the strip of the last runs of the same deployment or flow.
	Recent *recentView
	// Caused are the firings, actions and runs that the states of the run triggered; Trace leads to the whole chain.
	Caused []traceStep
	Trace  string
	// Graph shows the tasks and their dependencies; GraphCaption counts them.
	Graph        markup.Markup
	GraphCaption string
	// Parameters stand beside the graph, and AllParameters leads to their tab.
	Parameters    []pair
	AllParameters string
	// Cause is the cause of a failure, nil for runs that did not fail.
	Cause *causeView
	// Overview reports the first tab.
	Overview bool
	// Question is what a paused run asks for, nil for nothing; Expires words how long the run stays paused.
	Question *questionView
	Expires  string
	Logs     *logsView
	Tasks    *taskFilter
	Problems []string
	// AsOf chooses the moment of the page.
	AsOf asOfView
}

// flowRunHead are the answers that all tabs of a flow run show.
type flowRunHead struct {
	run        *orchv1.FlowRun
	flow       *orchv1.Flow
	deployment *orchv1.Deployment
	// at is the moment that the page shows; the zero time means now.
	at time.Time
	// state is the state at the moment, nil before the first one.
	state *orchv1.State
}

var flowRunTabs = []struct{ name, title string }{
	{"", "Overview"},
	{"tasks", "Tasks"},
	{"logs", "Logs"},
	{"events", "Events"},
	{"artifacts", "Artifacts"},
	{"parameters", "Parameters"},
	{"states", "States"},
}

// flowRunPages are the pages of one flow run.
func flowRunPages() []page.Page {
	all := []page.Page{
		flowRunTab("", flowRunOverview, append([]string{
			orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName, orchv1.TaskRunService_TaskRunHistory_FullMethodName, orchv1.LogService_ReadLogs_FullMethodName,
			orchv1.TaskRunService_ReadTaskRun_FullMethodName, orchv1.TaskRunService_ReadTaskRuns_FullMethodName,
			orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, orchv1.EventService_ReadEvents_FullMethodName,
		}, questionCalls...)...),
		flowRunTab("tasks", flowRunTasks, orchv1.TaskRunService_ReadTaskRuns_FullMethodName),
		flowRunTab("logs", flowRunLogs, orchv1.LogService_ReadLogs_FullMethodName),
		flowRunTab("events", flowRunEvents, orchv1.EventService_ReadEvents_FullMethodName),
		flowRunTab("artifacts", flowRunArtifacts, orchv1.ArtifactService_ReadArtifacts_FullMethodName),
		flowRunTab("parameters", flowRunParameters),
		flowRunTab("states", flowRunStates, orchv1.FlowRunStateService_ReadFlowRunStates_FullMethodName),
	}
	all[0].Actions = flowRunActions()
	return append(all, logDownloads()...)
}

// flowRunTab returns the page of one tab; content fills its part of the view.
func flowRunTab(name string, content func(*page.Request, flowRunHead, *flowRunView) error, uses ...string) page.Page {
	pattern := "/runs/flow-run/{id}"
	if name != "" {
		pattern += "/" + name
	}
	return page.Page{
		Pattern: pattern,
		Section: "/runs",
		Live:    "flow-run/{id}",
		Needs:   []string{orchv1.FlowRunService_ReadFlowRun_FullMethodName},
		Uses: append([]string{
			orchv1.FlowService_ReadFlow_FullMethodName, orchv1.DeploymentService_ReadDeployment_FullMethodName,
			orchv1.FlowRunStateService_ReadFlowRunStates_FullMethodName,
		}, uses...),
		Show: func(r *page.Request) (page.View, error) {
			return showFlowRun(r, name, content)
		},
	}
}

func showFlowRun(r *page.Request, name string, content func(*page.Request, flowRunHead, *flowRunView) error) (page.View, error) {
	head, err := readFlowRunHead(r)
	if err != nil {
		return page.View{}, err
	}
	run := head.run
	v := flowRunView{
		Title: show.Line(run.GetName(), 80), Badge: show.State(head.state.GetType(), head.state.GetName()), ID: show.ID(run.GetId()),
		Reason: show.Visible(head.state.GetMessage()), AsOf: newMomentView(r, head.at),
		Failed: slices.Contains([]orchv1.StateType{orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_CRASHED}, head.state.GetType()),
	}
	flowName := head.flow.GetName()
	if flowName == "" {
		flowName = run.GetFlowId()
	}
	v.Overview = name == ""
	v.Flow = show.Link(r.To("flows", "flow", run.GetFlowId()), flowName)
	base := r.To("runs", "flow-run", run.GetId())
	v.AllParameters = base + "/parameters"
	for _, t := range flowRunTabs {
		path := base
		if t.name != "" {
			path += "/" + t.name
		}
		v.Tabs = append(v.Tabs, tab{t.title, path + momentQuery(head.at), t.name == name})
	}
	if name == "" && head.at.IsZero() {
		offerFlowRunActions(r, run, &v)
		v.Question, v.Expires = newQuestionView(r, run), pauseEnds(r, run)
	}
	if err := content(r, head, &v); err != nil {
		return page.View{}, err
	}
	title := run.GetName()
	if name != "" {
		title = strings.ToUpper(name[:1]) + name[1:] + " of " + title
	}
	return page.View{Title: show.Line(title, 80), Template: "flow_run.html", Data: v}, nil
}

// readFlowRunHead reads the run, its flow and its deployment, and its states if the page shows a past moment.
func readFlowRunHead(r *page.Request) (flowRunHead, error) {
	at := r.AsOf()
	if err := r.Err(); err != nil {
		return flowRunHead{}, err
	}
	run := apicall.New[*orchv1.FlowRun](orchv1.FlowRunService_ReadFlowRun_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(run); err != nil {
		return flowRunHead{}, err
	}
	flow := apicall.New[*orchv1.Flow](orchv1.FlowService_ReadFlow_FullMethodName, apicall.ID(run.Result().GetFlowId()))
	calls := []apicall.Call{flow}
	deployment := apicall.New[*orchv1.Deployment](orchv1.DeploymentService_ReadDeployment_FullMethodName, apicall.ID(run.Result().GetDeploymentId()))
	if run.Result().DeploymentId != nil {
		calls = append(calls, deployment)
	}
	_ = r.Call(calls...) // The page shows their ids instead of names.
	head := flowRunHead{run: run.Result(), flow: flow.Result(), deployment: deployment.Result(), at: at, state: run.Result().GetState()}
	if head.state == nil {
		head.state = &orchv1.State{Type: run.Result().GetStateType(), Name: run.Result().StateName}
	}
	if at.IsZero() {
		return head, nil
	}
	states := flowRunStatesOf(run.Result().GetId())
	if err := r.Call(states); err != nil {
		return flowRunHead{}, err
	}
	head.state = nil
	if past := statesUntil(states.Result().GetStates(), at); len(past) > 0 {
		head.state = past[len(past)-1]
	}
	return head, nil
}

// started returns when the run had started at the moment of the page, the zero time if it had not.
func (h flowRunHead) started() time.Time {
	start := h.run.GetStartTime()
	if start == nil || !h.at.IsZero() && start.AsTime().After(h.at) {
		return time.Time{}
	}
	return start.AsTime()
}

// ended returns when the run had ended at the moment of the page, the zero time if it had not.
func (h flowRunHead) ended() time.Time {
	if h.state.GetTimestamp() == nil || !terminal(h.state.GetType()) {
		return time.Time{}
	}
	return h.state.GetTimestamp().AsTime()
}

// facts lists the properties of a run.
func (h flowRunHead) facts(r *page.Request) []pair {
	run, clock := h.run, clockOf(r)
	if !h.at.IsZero() { // The other properties are those of now.
		return pairs(pair{"Created", timeCell(r, run.GetCreated())}, pair{"Tags", mark(show.Tags(run.GetTags()))})
	}
	all := []pair{
		{"Start", mark(clock.Time(run.GetStartTime()))},
		{"Expected start", mark(clock.Time(run.GetExpectedStartTime()))},
		{"Next start", mark(clock.Time(run.GetNextScheduledStartTime()))},
		{"End", mark(clock.Time(run.GetEndTime()))},
		{"Run time", mark(show.Seconds(run.GetEstimatedRunTime()))},
		{"Lateness", mark(show.Seconds(run.GetEstimatedStartTimeDelta()))},
		{"Attempts", count(run.GetRunCount())},
		{"Tags", mark(show.Tags(run.GetTags()))},
		{"Created by", text(run.GetCreatedBy().GetDisplayValue())},
		{"Work queue", optionalText(run.WorkQueueName)},
		{"Infrastructure", optionalText(run.InfrastructurePid)},
	}
	if run.DeploymentId != nil {
		name := h.deployment.GetName()
		if name == "" {
			name = run.GetDeploymentId()
		}
		all = append(all, pair{"Deployment", link(r.To("deployments", "deployment", run.GetDeploymentId()), name)})
	}
	if run.WorkPoolName != nil {
		all = append(all, pair{"Work pool", link(r.To("work-pools", "work-pool", run.GetWorkPoolName()), run.GetWorkPoolName())})
	}
	if run.ParentTaskRunId != nil {
		all = append(all, pair{"Parent", link(r.To("runs", "task-run", run.GetParentTaskRunId()), "task run that started it")})
	}
	return pairs(all...)
}
