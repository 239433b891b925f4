package pages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// traceView is the data of a trace: what a request caused, from the delivery to the logs of the runs.
type traceView struct {
	Steps    []traceStep
	Logs     []traceLog
	Problems []string
	// Missing says why the trace ends where it does.
	Missing string
	AsOf    asOfView
}

// traceStep is a link of the chain.
type traceStep struct {
	Kind   string
	Title  markup.Markup
	Badge  markup.Markup
	At     markup.Markup
	After  string // The time since the first step.
	Detail string
	// Current marks the link that the address names.
	Current bool
	at      time.Time
}

type traceLog struct {
	At      markup.Markup
	Message string
}

const (
	// traceEvents bounds the events of automations that a trace reads.
	traceEvents = 50
	// traceLogs is the number of log lines at the end of a trace.
	traceLogs = 20
	// deliveryDistance bounds how long before its event a delivery arrived.
	deliveryDistance = 5 * time.Minute
)

func tracePage() page.Page {
	return page.Page{
		Pattern: "/trace/{kind}/{id}",
		Section: "/events",
		Needs:   []string{orchv1.EventService_ReadEvents_FullMethodName},
		Uses: []string{
			orchv1.WebhookService_ReadDelivery_FullMethodName, orchv1.WebhookService_ReadDeliveries_FullMethodName,
			orchv1.WebhookService_ReadWebhooks_FullMethodName, orchv1.WebhookService_ReadWebhook_FullMethodName,
			orchv1.FlowRunService_ReadFlowRuns_FullMethodName, orchv1.LogService_ReadLogs_FullMethodName,
		},
		Show: showTrace,
	}
}

// trace collects the links of a chain.
type trace struct {
	r        *page.Request
	id       string // That the address names.
	delivery *orchv1.WebhookDelivery
	event    *orchv1.ReceivedEvent
	emitted  []*orchv1.ReceivedEvent // By clients, about the run whose effects are shown.
	caused   []*orchv1.ReceivedEvent
	runs     []*orchv1.FlowRun
	logs     []*orchv1.Log
	problems []string
}

func showTrace(r *page.Request) (page.View, error) {
	kind := r.Vars["kind"]
	webhooks, at := r.UUIDs("webhook"), r.AsOf()
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	t := &trace{r: r, id: r.Vars["id"]}
	var err error
	switch kind {
	case "delivery":
		err = t.fromDelivery(webhooks)
	case "event":
		err = t.fromEvent(t.id)
	case "flow-run":
		err = t.fromRun()
	default:
		err = &param.Invalid{Name: "kind", Value: show.Line(kind, 40), Expected: "delivery, event or flow-run"}
	}
	if err != nil {
		return page.View{}, err
	}
	t.findEffects()
	t.until(at)
	v := traceView{Steps: t.steps(), Problems: t.problems, AsOf: newMomentView(r, at)}
	for _, l := range t.logs {
		v.Logs = append(v.Logs, traceLog{clockOf(r).Plain(l.GetTimestamp()), show.Line(l.GetMessage(), 300)})
	}
	switch {
	case t.event == nil && t.delivery != nil && t.delivery.GetStatus() >= http.StatusBadRequest:
		v.Missing = "The delivery failed, so there is no event. Mend the template, then replay it."
	case t.event == nil:
		v.Missing = "No event belongs to it, or the event was deleted."
	case len(t.caused) == 0:
		v.Missing = "No automation fired on this event."
	case len(t.runs) == 0:
		v.Missing = "No automation started a flow run."
	}
	return page.View{Title: "Trace", Template: "trace.html", Data: v}, nil
}

// until drops what happened after a moment. The zero time means now.
func (t *trace) until(at time.Time) {
	if at.IsZero() {
		return
	}
	later := func(moment time.Time) bool { return moment.After(at) }
	if t.event != nil && later(t.event.GetOccurred().AsTime()) {
		t.event = nil
	}
	t.caused = slices.DeleteFunc(t.caused, func(e *orchv1.ReceivedEvent) bool { return later(e.GetOccurred().AsTime()) })
	t.runs = slices.DeleteFunc(t.runs, func(run *orchv1.FlowRun) bool { return later(run.GetCreated().AsTime()) })
	t.logs = slices.DeleteFunc(t.logs, func(l *orchv1.Log) bool { return later(l.GetTimestamp().AsTime()) })
}

// fromDelivery reads the delivery and its event. Without a webhook in the address, all of the workspace are searched.
func (t *trace) fromDelivery(webhooks []string) error {
	if len(webhooks) == 0 {
		all := apicall.New[*orchv1.WebhookList](orchv1.WebhookService_ReadWebhooks_FullMethodName, apicall.Input{Body: apicall.JSON{"limit": maxRead}})
		if err := t.r.Call(all); err != nil {
			return err
		}
		for _, w := range all.Result().GetWebhooks() {
			webhooks = append(webhooks, w.GetId())
		}
	}
	calls := make([]apicall.Call, len(webhooks))
	lists := make([]*apicall.Unary[*orchv1.WebhookDeliveryList], len(webhooks))
	for i, w := range webhooks {
		in := apicall.ID(w)
		in.Body = apicall.JSON{"limit": 1, "deliveries": apicall.JSON{"id": any_([]string{t.id})}}
		lists[i] = apicall.New[*orchv1.WebhookDeliveryList](orchv1.WebhookService_ReadDeliveries_FullMethodName, in)
		calls[i] = lists[i]
	}
	err := t.r.Call(calls...)
	for _, list := range lists {
		for _, d := range list.Result().GetDeliveries() {
			t.delivery = d
		}
	}
	switch {
	case t.delivery != nil:
	case err != nil:
		return err
	default:
		return &page.NotFound{What: "delivery"}
	}
	id := cmp.Or(t.delivery.GetEventId(), t.delivery.GetReplayedEventId())
	if id == "" {
		return nil
	}
	var missing error
	t.event, missing = t.readEvent(id, t.delivery.GetReceived().AsTime())
	if text := page.Problem(missing); text != "" {
		t.problems = append(t.problems, text)
	}
	return nil
}

// readEvent reads an event, nil if it does not exist.
func (t *trace) readEvent(id string, around time.Time) (*orchv1.ReceivedEvent, error) {
	found := eventsByID(around, id)
	if err := t.r.Call(found); err != nil || len(found.Result().GetEvents()) == 0 {
		return nil, err
	}
	return found.Result().GetEvents()[0], nil
}

// fromEvent reads an event. The events of a firing lead to the event that triggered it.
func (t *trace) fromEvent(id string) error {
	e, err := t.readEvent(id, t.r.Now)
	if err != nil {
		return err
	}
	if e == nil {
		return &page.NotFound{What: "event"}
	}
	t.event = e
	if trigger := t.triggerOf(e); trigger != "" {
		if root, err := t.readEvent(trigger, e.GetOccurred().AsTime()); err == nil && root != nil {
			t.event = root
		}
	}
	t.findDelivery()
	return nil
}

// triggerOf returns the id of the event that triggered the automation of an event, empty for events of other resources.
func (t *trace) triggerOf(e *orchv1.ReceivedEvent) string {
	vocab := t.r.Server.Vocabulary
	if !strings.HasPrefix(e.GetEvent(), vocab.Name("automation", "")) {
		return ""
	}
	return t.related(e, "event", "triggering-event")
}

// related returns the UUID of the first related resource of a kind in a role; an empty role is any.
func (t *trace) related(e *orchv1.ReceivedEvent, kind, role string) string {
	vocab := t.r.Server.Vocabulary
	for _, related := range e.GetRelated() {
		id, ok := strings.CutPrefix(related.GetLabels()[vocab.ResourceID()], vocab.Name(kind, ""))
		if parsed, err := uuid.Parse(id); ok && err == nil && (role == "" || related.GetLabels()[vocab.ResourceRole()] == role) {
			return parsed.String()
		}
	}
	return ""
}

// fromRun finds the action that created the run, and the event that triggered it.
func (t *trace) fromRun() error {
	runs := t.askRuns([]string{t.id})
	created := t.eventsAbout([]string{t.r.Server.Vocabulary.Name("flow-run", t.id)}, t.r.Server.Vocabulary.Name("automation", "action", "executed"))
	_ = t.r.Call(runs, created)
	if err := created.Err(); err != nil {
		return err
	}
	t.problems = problems(runs)
	t.runs = runs.Result().GetFlowRuns()
	for _, e := range created.Result().GetEvents() {
		if t.related(e, "flow-run", "flow-run") != t.id {
			continue
		}
		trigger := t.triggerOf(e)
		if trigger == "" {
			t.caused = []*orchv1.ReceivedEvent{e} // The absence of events or a metric triggered it.
			return nil
		}
		root, err := t.readEvent(trigger, e.GetOccurred().AsTime())
		if err != nil {
			return err
		}
		t.event = root
		t.findDelivery()
		return nil
	}
	if len(t.runs) == 0 && runs.Err() == nil {
		return &page.NotFound{What: "flow run"}
	}
	return nil
}

// eventsAbout asks for events of a name that concern one of the resources, oldest first.
func (t *trace) eventsAbout(resources []string, prefix string) *apicall.Unary[*orchv1.EventPage] {
	return apicall.New[*orchv1.EventPage](orchv1.EventService_ReadEvents_FullMethodName, apicall.Input{Body: apicall.JSON{
		"filter": apicall.JSON{
			"any_resource": apicall.JSON{"id": resources}, "event": apicall.JSON{"prefix": []string{prefix}}, "order": "ASC",
		},
		"limit": traceEvents,
	}})
}

// findDelivery finds the delivery of the event by the event's webhook and time.
func (t *trace) findDelivery() {
	if t.event == nil || t.delivery != nil {
		return
	}
	vocab := t.r.Server.Vocabulary
	for _, related := range t.event.GetRelated() {
		id, ok := strings.CutPrefix(related.GetLabels()[vocab.ResourceID()], vocab.CloudName("webhook", ""))
		if _, err := uuid.Parse(id); !ok || err != nil {
			continue
		}
		at := t.event.GetReceived().AsTime()
		in := apicall.ID(id)
		in.Body = apicall.JSON{"limit": maxRead, "deliveries": apicall.JSON{"received": apicall.JSON{"after_": at.Add(-deliveryDistance), "before_": at.Add(time.Second)}}}
		list := apicall.New[*orchv1.WebhookDeliveryList](orchv1.WebhookService_ReadDeliveries_FullMethodName, in)
		_ = t.r.Call(list) // Without the log the trace begins with the event.
		for _, d := range list.Result().GetDeliveries() {
			if d.GetEventId() == t.event.GetId() && !d.GetDuplicate() {
				t.delivery = d
			}
		}
		return
	}
}

// findEffects reads the firings and actions that the event caused, their runs and the runs' last logs.
func (t *trace) findEffects() {
	if t.event != nil {
		t.findCaused(t.event.GetId())
	}
	ids := t.startedRuns()
	for _, run := range t.runs {
		ids = append(ids, run.GetId())
	}
	if ids = unique(ids); len(ids) == 0 {
		return
	}
	runs := t.askRuns(ids)
	logs := apicall.New[*orchv1.LogList](orchv1.LogService_ReadLogs_FullMethodName, apicall.Input{Body: apicall.JSON{
		"logs": apicall.JSON{"flow_run_id": any_(ids)}, "limit": traceLogs, "sort": "TIMESTAMP_DESC",
	}})
	_ = t.r.Call(runs, logs)
	t.problems = append(t.problems, problems(runs, logs)...)
	t.runs, t.logs = runs.Result().GetFlowRuns(), logs.Result().GetLogs()
	slices.Reverse(t.logs)
}

// findCaused reads the firings that events triggered, and their actions.
func (t *trace) findCaused(events ...string) {
	vocab := t.r.Server.Vocabulary
	resources := make([]string, len(events))
	for i, id := range events {
		resources[i] = vocab.Name("event", id)
	}
	caused := t.eventsAbout(resources, vocab.Name("automation", ""))
	_ = t.r.Call(caused)
	t.problems = append(t.problems, problems(caused)...)
	t.caused = caused.Result().GetEvents()
}

// startedRuns returns the ids of the flow runs that the actions started.
func (t *trace) startedRuns() []string {
	var ids []string
	for _, e := range t.caused {
		ids = append(ids, t.related(e, "flow-run", "flow-run"))
	}
	return unique(ids)
}

func (t *trace) askRuns(ids []string) *apicall.Unary[*orchv1.FlowRunList] {
	return apicall.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, apicall.Input{Body: apicall.JSON{
		"flow_runs": apicall.JSON{"id": any_(ids)}, "limit": traceEvents,
	}})
}

// steps puts the links in their order in time, the delivery and the event first.
func (t *trace) steps() []traceStep {
	var steps []traceStep
	clock := clockOf(t.r)
	if d := t.delivery; d != nil {
		steps = append(steps, traceStep{
			Kind: "Delivery", Title: show.Link(t.r.To("webhooks", "webhook", d.GetWebhookId(), "deliveries", d.GetId()), requestLine(d)),
			Badge: show.Outcome(d), Detail: outcomeText(d), Current: d.GetId() == t.id, at: d.GetReceived().AsTime(),
		})
	}
	if e := t.event; e != nil {
		steps = append(steps, t.eventStep(e, e.GetReceived()))
	}
	first := len(steps)
	for _, e := range t.emitted {
		steps = append(steps, t.eventStep(e, e.GetOccurred()))
	}
	for _, e := range t.caused {
		steps = append(steps, t.automationStep(e))
	}
	for _, run := range t.runs {
		steps = append(steps, traceStep{
			Kind: "Flow run", Title: show.Link(t.r.To("runs", "flow-run", run.GetId()), run.GetName()),
			Badge: show.State(run.GetStateType(), run.GetStateName()), Detail: show.Line(run.GetState().GetMessage(), 140),
			Current: run.GetId() == t.id, at: run.GetCreated().AsTime(),
		})
	}
	slices.SortStableFunc(steps[first:], func(a, b traceStep) int { return a.at.Compare(b.at) })
	for i := range steps {
		steps[i].At = clock.At(steps[i].at)
		if d := steps[i].at.Sub(steps[0].at); i > 0 {
			steps[i].After = "+" + show.Duration(d)
			if d < 0 {
				steps[i].After = show.Duration(d)
			}
		}
	}
	return steps
}

// eventStep is an event at the time of its occurrence or of its arrival.
func (t *trace) eventStep(e *orchv1.ReceivedEvent, at *timestamppb.Timestamp) traceStep {
	return traceStep{
		Kind: "Event", Title: show.Link(eventLink(t.r, e), e.GetEvent()), Current: e.GetId() == t.id,
		Detail: show.Line(e.GetResource().GetLabels()[t.r.Server.Vocabulary.ResourceID()], 100), at: at.AsTime(),
	}
}

// automationStep is a firing of an automation, or one of its actions.
func (t *trace) automationStep(e *orchv1.ReceivedEvent) traceStep {
	vocab := t.r.Server.Vocabulary
	step := traceStep{Title: resourceMarkup(t.r, e.GetResource().GetLabels()), Current: e.GetId() == t.id, at: e.GetOccurred().AsTime()}
	name := strings.TrimPrefix(e.GetEvent(), vocab.Name("automation", ""))
	action, isAction := strings.CutPrefix(name, "action.")
	var payload struct {
		Index  int    `json:"action_index"`
		Type   string `json:"action_type"`
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(e.GetPayload(), &payload) // An unreadable payload leaves the detail empty.
	if !isAction {
		step.Kind, step.Detail = "Automation", show.Line(name, 40)
		return step
	}
	step.Kind = "Action"
	step.Detail = show.Line(strings.TrimSpace(fmt.Sprintf("%s %s %s", payload.Type, action, payload.Reason)), 200)
	return step
}
