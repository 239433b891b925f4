package pages

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// taskRunHead are the answers that all tabs of a task run show. A past moment replaces the state of the run.
type taskRunHead struct {
	run *orchv1.TaskRun
	// at is the moment that the page shows; the zero time means now.
	at time.Time
}

var taskRunTabs = []struct{ name, title string }{
	{"", "Overview"},
	{"logs", "Logs"},
	{"events", "Events"},
	{"artifacts", "Artifacts"},
	{"inputs", "Inputs"},
	{"states", "States"},
}

// taskRunPages are the pages of one task run.
func taskRunPages() []page.Page {
	return []page.Page{
		taskRunTab("", taskRunOverview, orchv1.LogService_ReadLogs_FullMethodName),
		taskRunTab("logs", taskRunLogs, orchv1.LogService_ReadLogs_FullMethodName),
		taskRunTab("events", taskRunEvents, orchv1.EventService_ReadEvents_FullMethodName),
		taskRunTab("artifacts", taskRunArtifacts, orchv1.ArtifactService_ReadArtifacts_FullMethodName),
		taskRunTab("inputs", taskRunInputs),
		taskRunTab("states", taskRunStates),
		{
			Pattern: "/runs/task-run/{id}/logs/lines",
			Section: "/runs",
			Needs:   []string{orchv1.LogService_ReadLogs_FullMethodName},
			Uses:    []string{orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName},
			Serve: func(w http.ResponseWriter, r *page.Request) error {
				return sendLines(w, r, logsOfTaskRun(r, r.Vars["id"], r.AsOf(), 0))
			},
		},
	}
}

// taskRunTab returns the page of one tab; content fills its part of the view.
func taskRunTab(name string, content func(*page.Request, taskRunHead, *flowRunView) error, uses ...string) page.Page {
	pattern := "/runs/task-run/{id}"
	if name != "" {
		pattern += "/" + name
	}
	return page.Page{
		Pattern: pattern,
		Section: "/runs",
		Live:    "task-run/{id}",
		Needs:   []string{orchv1.TaskRunService_ReadTaskRun_FullMethodName},
		Uses:    append([]string{orchv1.FlowRunService_ReadFlowRun_FullMethodName, orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName}, uses...),
		Show: func(r *page.Request) (page.View, error) {
			h, err := readTaskRunHead(r)
			if err != nil {
				return page.View{}, err
			}
			v := taskRunView(r, h, name)
			if err := content(r, h, &v); err != nil {
				return page.View{}, err
			}
			title := v.Title
			if name != "" {
				title = strings.ToUpper(name[:1]) + name[1:] + " of " + title
			}
			return page.View{Title: title, Template: "flow_run.html", Data: v}, nil
		},
	}
}

// readTaskRunHead reads the run, and its states if the page shows a past moment.
func readTaskRunHead(r *page.Request) (taskRunHead, error) {
	at := r.AsOf()
	if err := r.Err(); err != nil {
		return taskRunHead{}, err
	}
	task := apicall.New[*orchv1.TaskRun](orchv1.TaskRunService_ReadTaskRun_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(task); err != nil {
		return taskRunHead{}, err
	}
	run := task.Result()
	if at.IsZero() {
		return taskRunHead{run, at}, nil
	}
	states := taskRunStatesOf(run.GetId())
	if err := r.Call(states); err != nil {
		return taskRunHead{}, err
	}
	run.State, run.StateType, run.StateName = nil, nil, nil
	if past := statesUntil(states.Result().GetStates(), at); len(past) > 0 {
		last := past[len(past)-1]
		run.State, run.StateType, run.StateName = last, last.Type.Enum(), last.Name
	}
	return taskRunHead{run, at}, nil
}

// taskRunView builds what all tabs of a task run show.
func taskRunView(r *page.Request, h taskRunHead, current string) flowRunView {
	run := h.run
	v := flowRunView{
		Title: show.Line(run.GetName(), 80), Badge: show.State(run.GetStateType(), run.GetStateName()), ID: show.ID(run.GetId()),
		Reason: show.Visible(run.GetState().GetMessage()),
		Failed: run.GetStateType() == orchv1.StateType_STATE_TYPE_FAILED || run.GetStateType() == orchv1.StateType_STATE_TYPE_CRASHED,
		Flow:   show.Text("Task run"), AsOf: newMomentView(r, h.at), Overview: current == "",
	}
	if run.FlowRunId != nil {
		parent := apicall.New[*orchv1.FlowRun](orchv1.FlowRunService_ReadFlowRun_FullMethodName, apicall.ID(run.GetFlowRunId()))
		name := "flow run"
		if r.Call(parent) == nil {
			name = parent.Result().GetName()
		}
		v.Flow = show.Link(r.To("runs", "flow-run", run.GetFlowRunId()), name)
	}
	base := r.To("runs", "task-run", run.GetId())
	for _, t := range taskRunTabs {
		path := base
		if t.name != "" {
			path += "/" + t.name
		}
		v.Tabs = append(v.Tabs, tab{t.title, path + momentQuery(h.at), t.name == current})
	}
	return v
}

// taskRunOverview shows the properties and the first errors.
func taskRunOverview(r *page.Request, h taskRunHead, v *flowRunView) error {
	run, clock := h.run, clockOf(r)
	v.Pairs = pairs( // These are the properties of now.
		pair{"Start", mark(clock.Time(run.GetStartTime()))},
		pair{"Expected start", mark(clock.Time(run.GetExpectedStartTime()))},
		pair{"End", mark(clock.Time(run.GetEndTime()))},
		pair{"Run time", mark(show.Seconds(run.GetEstimatedRunTime()))},
		pair{"Attempts", count(run.GetRunCount())},
		pair{"Task", text(run.GetTaskKey())},
		pair{"Tags", mark(show.Tags(run.GetTags()))},
		pair{"Cache key", optionalText(run.CacheKey)},
		pair{"Cached until", mark(clock.Time(run.GetCacheExpiration()))},
	)
	if child := run.GetState().GetStateDetails().GetChildFlowRunId(); child != "" {
		v.Pairs = append(v.Pairs, pair{"Subflow", link(r.To("runs", "flow-run", child), "flow run that it started")})
	}
	if !v.Failed {
		return nil
	}
	failures := errorLogs(logsUntil(apicall.JSON{"task_run_id": any_([]string{run.GetId()})}, h.at))
	_ = r.Call(failures) // The page says what it misses.
	v.Problems = problems(failures)
	v.Cause = newCause(failures.Result().GetLogs(), run.GetState().GetMessage())
	return nil
}

// logsOfTaskRun is the source of the lines of a task run. The number of its attempts is 0 if unknown.
func logsOfTaskRun(r *page.Request, id string, at time.Time, count int64) logSource {
	return logSource{
		run: apicall.JSON{"task_run_id": any_([]string{id})}, states: statesOfAttempts(r, taskRunStatesOf(id), count), at: at, path: r.To("runs", "task-run", id, "logs"),
	}
}

// taskRunLogs shows the log of the run.
func taskRunLogs(r *page.Request, h taskRunHead, v *flowRunView) (err error) {
	v.Logs, err = showLogs(r, logsOfTaskRun(r, h.run.GetId(), h.at, h.run.GetRunCount()))
	return err
}

// taskRunEvents lists the events about the run.
func taskRunEvents(r *page.Request, h taskRunHead, v *flowRunView) error {
	v.Panels = append(v.Panels, eventPanel(r, r.Server.Vocabulary.Name("task-run", h.run.GetId()), until(r, h.at)))
	return nil
}

// taskRunArtifacts lists the artifacts of the run.
func taskRunArtifacts(r *page.Request, h taskRunHead, v *flowRunView) error {
	v.Panels = append(v.Panels, artifactPanel(r, "task_run_id", h.run.GetId()))
	return nil
}

// taskRunInputs lists the sources of the parameters' values.
func taskRunInputs(r *page.Request, h taskRunHead, v *flowRunView) error {
	t := &table{Columns: []string{"Parameter", "Kind", "Source"}, Empty: "The client reported no input."}
	for _, name := range slices.Sorted(maps.Keys(h.run.GetTaskInputs())) {
		for _, input := range h.run.GetTaskInputs()[name].GetValues() {
			kind, source := taskInput(r, input)
			t.add(text(name), text(kind), source)
		}
	}
	v.Panels = append(v.Panels, panel{Table: t})
	return nil
}

// taskInput words a source of a parameter's value.
func taskInput(r *page.Request, input *orchv1.TaskInput) (kind string, source cell) {
	switch {
	case input.GetTaskRun() != nil:
		id := input.GetTaskRun().GetId()
		return "result of a task run", link(r.To("runs", "task-run", id), id)
	case input.GetFlowRun() != nil:
		id := input.GetFlowRun().GetId()
		return "result of a flow run", link(r.To("runs", "flow-run", id), id)
	case input.GetParameter() != nil:
		return "parameter of the flow", text(input.GetParameter().GetName())
	}
	return "constant", text(input.GetConstant().GetType())
}

// taskRunStates lists the history of states, latest first.
func taskRunStates(r *page.Request, h taskRunHead, v *flowRunView) error {
	states := taskRunStatesOf(h.run.GetId())
	_ = r.Call(states)
	v.Panels = append(v.Panels, panel{Table: stateTable(r, statesUntil(states.Result().GetStates(), h.at)), Problem: page.Problem(states.Err())})
	return nil
}

func taskRunStatesOf(run string) *apicall.Unary[*orchv1.StateList] {
	return apicall.New[*orchv1.StateList](orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName, apicall.Input{Query: map[string][]string{"task_run_id": {run}}})
}
