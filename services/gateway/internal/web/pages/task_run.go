package pages

import (
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/ask"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// taskRunPages are the pages of one task run.
func taskRunPages() []page.Page {
	return []page.Page{
		{
			Pattern: "/runs/task-run/{id}",
			Section: "/runs",
			Live:    "task-run/{id}",
			Needs:   []string{orchv1.TaskRunService_ReadTaskRun_FullMethodName},
			Uses: []string{
				orchv1.FlowRunService_ReadFlowRun_FullMethodName, orchv1.LogService_ReadLogs_FullMethodName,
				orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName, orchv1.ArtifactService_ReadArtifacts_FullMethodName,
			},
			Show: showTaskRun,
		},
		{
			Pattern: "/runs/task-run/{id}/logs",
			Section: "/runs",
			Live:    "task-run/{id}",
			Needs:   []string{orchv1.TaskRunService_ReadTaskRun_FullMethodName},
			Uses: []string{
				orchv1.FlowRunService_ReadFlowRun_FullMethodName, orchv1.LogService_ReadLogs_FullMethodName,
				orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName,
			},
			Show: showTaskRunLogs,
		},
	}
}

// taskRunView reads a task run and builds what both of its pages show, at the moment of the page.
func taskRunView(r *page.Request, current string) (*orchv1.TaskRun, flowRunView, error) {
	at := r.Moment()
	if err := r.Err(); err != nil {
		return nil, flowRunView{}, err
	}
	task := ask.New[*orchv1.TaskRun](orchv1.TaskRunService_ReadTaskRun_FullMethodName, ask.ID(r.Vars["id"]))
	if err := r.Ask(task); err != nil {
		return nil, flowRunView{}, err
	}
	run := task.Answer()
	if !at.IsZero() {
		states := taskRunStatesOf(run.GetId())
		if err := r.Ask(states); err != nil {
			return nil, flowRunView{}, err
		}
		run.State, run.StateType, run.StateName = nil, nil, nil
		if past := statesUntil(states.Answer().GetStates(), at); len(past) > 0 {
			last := past[len(past)-1]
			run.State, run.StateType, run.StateName = last, last.Type.Enum(), last.Name
		}
	}
	v := flowRunView{
		Title: show.Line(run.GetName(), 80), Badge: show.State(run.GetStateType(), run.GetStateName()), ID: show.ID(run.GetId()),
		Reason: show.Visible(run.GetState().GetMessage()),
		Failed: run.GetStateType() == orchv1.StateType_STATE_TYPE_FAILED || run.GetStateType() == orchv1.StateType_STATE_TYPE_CRASHED,
		Flow:   show.Text("Task run"), Moment: newMomentView(r, at),
	}
	if run.FlowRunId != nil {
		parent := ask.New[*orchv1.FlowRun](orchv1.FlowRunService_ReadFlowRun_FullMethodName, ask.ID(run.GetFlowRunId()))
		name := "flow run"
		if r.Ask(parent) == nil {
			name = parent.Answer().GetName()
		}
		v.Flow = show.Link(r.To("runs", "flow-run", run.GetFlowRunId()), name)
	}
	base := r.To("runs", "task-run", run.GetId())
	v.Tabs = []tab{{"Overview", base + momentQuery(at), current == ""}, {"Logs", base + "/logs" + momentQuery(at), current == "logs"}}
	return run, v, nil
}

func showTaskRun(r *page.Request) (page.View, error) {
	run, v, err := taskRunView(r, "")
	if err != nil {
		return page.View{}, err
	}
	clock := clockOf(r)
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
	at, states := r.Moment(), taskRunStatesOf(run.GetId())
	failures := ask.New[*orchv1.LogList](orchv1.LogService_ReadLogs_FullMethodName, ask.Input{Body: ask.JSON{
		"logs": logsUntil(ask.JSON{"task_run_id": any_([]string{run.GetId()}), "level": ask.JSON{"ge_": 40}}, at), "limit": 5,
	}})
	artifacts := ask.New[*orchv1.ArtifactList](orchv1.ArtifactService_ReadArtifacts_FullMethodName, ask.Input{Body: ask.JSON{
		"artifacts": ask.JSON{"task_run_id": any_([]string{run.GetId()}), "type": ask.JSON{"not_any_": []string{"result"}}}, "limit": 50,
	}})
	_ = r.Ask(states, failures, artifacts) // Each panel says what it misses.
	v.Problems = problems(failures, artifacts)
	if logs := failures.Answer().GetLogs(); v.Failed && len(logs) > 0 {
		v.Logs = &logsView{Rows: logRows(r, logs), Brief: true}
	}
	v.Panels = append(v.Panels, panel{Title: "States", Table: stateTable(r, statesUntil(states.Answer().GetStates(), at)), Problem: page.Problem(states.Err())})
	if list := artifacts.Answer().GetArtifacts(); len(list) > 0 {
		v.Panels = append(v.Panels, panel{Title: "Artifacts", Table: artifactTable(r, list)})
	}
	return page.View{Title: v.Title, Template: "flow_run.html", Data: v}, nil
}

func taskRunStatesOf(run string) *ask.Of[*orchv1.StateList] {
	return ask.New[*orchv1.StateList](orchv1.TaskRunStateService_ReadTaskRunStates_FullMethodName, ask.Input{Query: map[string][]string{"task_run_id": {run}}})
}

func showTaskRunLogs(r *page.Request) (page.View, error) {
	run, v, err := taskRunView(r, "logs")
	if err != nil {
		return page.View{}, err
	}
	if v.Logs, err = readLogs(r, logsUntil(ask.JSON{"task_run_id": any_([]string{run.GetId()})}, r.Moment())); err != nil {
		return page.View{}, err
	}
	return page.View{Title: "Logs of " + v.Title, Template: "flow_run.html", Data: v}, nil
}
