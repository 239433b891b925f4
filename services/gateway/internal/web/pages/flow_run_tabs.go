package pages

import (
	"slices"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// taskFilter is the form that filters the task runs of a flow run.
type taskFilter struct {
	Q, Path, StateText string
	States             []choice
	Hidden             []hiddenField
	Filtered           bool
}

// flowRunTasks lists the task runs, filtered by name and state.
func flowRunTasks(r *page.Request, h flowRunHead, v *flowRunView) error {
	states, q, rows := r.Words("state", show.StateWords()...), r.Text("q"), r.Rows()
	skip := r.Int("skip", 0, 1_000_000, 0)
	if err := r.Err(); err != nil {
		return err
	}
	filter := apicall.JSON{"flow_run_id": any_([]string{h.run.GetId()})}
	if len(states) > 0 {
		filter["state"] = apicall.JSON{"type": any_(states)}
	}
	if q != "" {
		filter["name"] = apicall.JSON{"like_": q}
	}
	tasks := apicall.New[*orchv1.TaskRunList](orchv1.TaskRunService_ReadTaskRuns_FullMethodName, apicall.Input{Body: apicall.JSON{
		"task_runs": filter, "sort": "EXPECTED_START_TIME_ASC", "limit": min(rows+1, 200), "offset": skip,
	}})
	_ = r.Call(tasks)
	list, more := cut(tasks.Result().GetTaskRuns(), min(rows, 199))
	t := taskTable(r, list)
	if more {
		t.Older = r.Here("skip", show.Digits(skip+len(list)))
	}
	p := panel{Table: t, Problem: page.Problem(tasks.Err())}
	if !h.at.IsZero() {
		p.Title = "Task runs with their current states"
	}
	v.Panels = append(v.Panels, p)
	v.Tasks = &taskFilter{
		Q: q, Path: r.Path(), States: stateChoices(show.StateWords(), states), StateText: stateText(states), Hidden: hiddenFields(r, "at", "tz", "n"),
		Filtered: q != "" || len(states) > 0,
	}
	return nil
}

func taskTable(r *page.Request, tasks []*orchv1.TaskRun) *table {
	clock := clockOf(r)
	t := &table{Columns: []string{"State", "Task run", "Start", "Took", "Attempts", "Tags"}, Empty: "No task run matches."}
	for _, task := range tasks {
		start := task.GetStartTime()
		if start == nil {
			start = task.GetExpectedStartTime()
		}
		took := mark(show.Seconds(task.GetEstimatedRunTime()))
		took.Number = true
		t.add(mark(show.State(task.GetStateType(), task.GetStateName())), link(r.To("runs", "task-run", task.GetId()), task.GetName()),
			mark(clock.Time(start)), took, count(task.GetRunCount()), mark(show.Tags(task.GetTags())))
	}
	return t
}

// flowRunEvents lists the events about the run.
func flowRunEvents(r *page.Request, h flowRunHead, v *flowRunView) error {
	resource := r.Server.Vocabulary.Name("flow-run", h.run.GetId())
	v.Panels = append(v.Panels, eventPanel(r, resource, until(r, h.at)))
	return nil
}

// eventPanel shows the latest events about a resource until a time.
func eventPanel(r *page.Request, resource string, until time.Time) panel {
	const most = 50
	events := apicall.New[*orchv1.EventPage](orchv1.EventService_ReadEvents_FullMethodName, apicall.Input{Body: apicall.JSON{
		"filter": apicall.JSON{"any_resource": apicall.JSON{"id": []string{resource}}, "order": "DESC", "occurred": apicall.JSON{"since": until.AddDate(0, -5, 0), "until": until}},
		"limit":  most,
	}})
	_ = r.Call(events)
	t := &table{Columns: []string{"Occurred", "Event", "Resource"}, Empty: "No event is about it yet."}
	for _, e := range events.Result().GetEvents() {
		t.add(timeCell(r, e.GetOccurred()), link(r.To("events", "event", stamp(e.GetOccurred().AsTime())[:10], e.GetId()), e.GetEvent()), text(labelName(r, e.GetResource().GetLabels())))
	}
	return panel{Table: t, Problem: page.Problem(events.Err())}
}

// flowRunArtifacts lists the artifacts of the run and its tasks.
func flowRunArtifacts(r *page.Request, h flowRunHead, v *flowRunView) error {
	v.Panels = append(v.Panels, artifactPanel(r, "flow_run_id", h.run.GetId()))
	return nil
}

// artifactPanel lists the artifacts whose field has an id. Results of tasks are no artifacts for people.
func artifactPanel(r *page.Request, field, id string) panel {
	artifacts := apicall.New[*orchv1.ArtifactList](orchv1.ArtifactService_ReadArtifacts_FullMethodName, apicall.Input{Body: apicall.JSON{
		"artifacts": apicall.JSON{field: any_([]string{id}), "type": apicall.JSON{"not_any_": []string{"result"}}}, "limit": 100,
	}})
	_ = r.Call(artifacts)
	return panel{Table: artifactTable(r, artifacts.Result().GetArtifacts()), Problem: page.Problem(artifacts.Err())}
}

func artifactTable(r *page.Request, artifacts []*orchv1.Artifact) *table {
	t := &table{Columns: []string{"Key", "Type", "Description", "Created"}, Empty: "No artifact."}
	for _, a := range artifacts {
		key := a.GetKey()
		if key == "" {
			key = "(no key)"
		}
		t.add(link(r.To("artifacts", "artifact", a.GetId()), key), text(a.GetType()), text(a.GetDescription()), timeCell(r, a.GetCreated()))
	}
	return t
}

// flowRunParameters shows the parameters and the other JSON of the run.
func flowRunParameters(_ *page.Request, h flowRunHead, v *flowRunView) error {
	for _, p := range []struct {
		title string
		raw   []byte
	}{{"Parameters", h.run.GetParameters()}, {"Job variables", h.run.GetJobVariables()}, {"Context", h.run.GetContext()}} {
		if len(p.raw) > 0 && string(p.raw) != "{}" || p.title == "Parameters" {
			v.Panels = append(v.Panels, panel{Title: p.title, Body: show.JSON(p.raw)})
		}
	}
	return nil
}

// flowRunStates lists the history of states, latest first.
func flowRunStates(r *page.Request, h flowRunHead, v *flowRunView) error {
	states := flowRunStatesOf(h.run.GetId())
	_ = r.Call(states)
	v.Panels = append(v.Panels, panel{Table: stateTable(r, statesUntil(states.Result().GetStates(), h.at)), Problem: page.Problem(states.Err())})
	return nil
}

func flowRunStatesOf(run string) *apicall.Unary[*orchv1.StateList] {
	return apicall.New[*orchv1.StateList](orchv1.FlowRunStateService_ReadFlowRunStates_FullMethodName, apicall.Input{Query: map[string][]string{"flow_run_id": {run}}})
}

func stateTable(r *page.Request, states []*orchv1.State) *table {
	t := &table{Columns: []string{"State", "Time", "Lasted", "View", "Message"}, Empty: "No state yet."}
	clock := clockOf(r)
	for i, state := range slices.Backward(states) {
		lasted := cell{Number: true}
		if i+1 < len(states) {
			lasted.Text = show.Duration(states[i+1].GetTimestamp().AsTime().Sub(state.GetTimestamp().AsTime()))
		}
		moment := show.Link(r.Here("at", stamp(state.GetTimestamp().AsTime())), "as at this time")
		t.add(mark(show.State(state.GetType(), state.GetName())), mark(clock.Time(state.GetTimestamp())), lasted, mark(moment),
			cell{Text: show.Middle(show.Visible(state.GetMessage()), 400)})
	}
	return t
}
