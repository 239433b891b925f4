package pages

import (
	"net/url"
	"slices"

	"github.com/orch-project/orch/pkg/runlist"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

const (
	// recentRuns is the number of runs in the strip of a run's page.
	recentRuns = 20
	// causingStates is the number of states, the last ones, whose effects a run's page shows.
	causingStates = 50
)

// recentView shows the last runs of the deployment or flow of a run.
type recentView struct {
	Title   string
	Strip   markup.Markup
	AllRuns string
	// Completed links to the last other run that completed, empty without one; CompletedAt is its start.
	Completed, CompletedAt markup.Markup
}

// flowRunContext shows the runs before and after a run, and what its states triggered. Both are those of now.
func flowRunContext(r *page.Request, h flowRunHead, v *flowRunView) {
	object, query := apicall.JSON{"flows": apicall.JSON{"id": any_([]string{h.run.GetFlowId()})}}, url.Values{"flow": {h.run.GetFlowId()}}
	title := "Runs of the flow"
	if id := h.run.GetDeploymentId(); id != "" {
		object, query = apicall.JSON{"deployments": apicall.JSON{"id": any_([]string{id})}}, url.Values{"deployment": {id}}
		title = "Runs of the deployment"
	}
	recent, states, emitted := readRunList(runlist.Past(), object, recentRuns), flowRunStatesOf(h.run.GetId()), h.emitted(r)
	_ = r.Call(recent, states, emitted) // The parts of failed calls are absent.
	if runs := recent.Result().GetFlowRuns(); len(runs) > 1 {
		query.Set("from", "-30d")
		v.Recent = &recentView{Title: title, Strip: runStrip(r, runs, h.run.GetId()), AllRuns: r.To("runs") + "?" + query.Encode()}
		for _, run := range runs {
			if run.GetStateType() == orchv1.StateType_STATE_TYPE_COMPLETED && run.GetId() != h.run.GetId() {
				v.Recent.Completed = show.Link(r.To("runs", "flow-run", run.GetId()), run.GetName())
				v.Recent.CompletedAt = clockOf(r).At(startOf(run))
				break
			}
		}
	}
	v.Caused = h.caused(r, states.Result().GetStates(), emitted.Result().GetEvents(), v)
	if r.May(orchv1.EventService_ReadEvents_FullMethodName) {
		v.Trace = r.To("trace", "flow-run", h.run.GetId())
	}
}

// emitted returns the call that reads the events of clients about the run, for example events that the code of the flow emits.
func (h flowRunHead) emitted(r *page.Request) *apicall.Unary[*orchv1.EventPage] {
	vocab := r.Server.Vocabulary
	return apicall.New[*orchv1.EventPage](orchv1.EventService_ReadEvents_FullMethodName, apicall.Input{Body: apicall.JSON{
		"filter": apicall.JSON{
			"any_resource": apicall.JSON{"id": []string{vocab.Name("flow-run", h.run.GetId())}},
			"event":        apicall.JSON{"exclude_prefix": []string{vocab.Name(""), vocab.CloudName("")}}, "order": "ASC",
		},
		"limit": traceEvents,
	}})
}

// caused returns the events of clients about the run, the firings that its last states and these events triggered, the outcomes of
// their actions, and the flow runs that the actions started.
func (h flowRunHead) caused(r *page.Request, states []*orchv1.State, emitted []*orchv1.ReceivedEvent, v *flowRunView) []traceStep {
	var events []string
	for _, state := range states[max(len(states)-causingStates, 0):] {
		events = append(events, state.GetId()) // The event of a state has the id of the state.
	}
	for _, e := range emitted {
		events = append(events, e.GetId())
	}
	if len(events) == 0 {
		return nil
	}
	t := &trace{r: r, emitted: emitted}
	t.findCaused(events...)
	triggered := r.Server.Vocabulary.Name("automation", "action", "triggered")
	t.caused = slices.DeleteFunc(t.caused, func(e *orchv1.ReceivedEvent) bool { return e.GetEvent() == triggered })
	ids := slices.DeleteFunc(t.startedRuns(), func(id string) bool { return id == h.run.GetId() }) // An action may act on the run itself.
	if len(ids) > 0 {
		runs := t.askRuns(ids)
		_ = r.Call(runs)
		t.runs, t.problems = runs.Result().GetFlowRuns(), append(t.problems, problems(runs)...)
	}
	v.Problems = append(v.Problems, t.problems...)
	return t.steps()
}
