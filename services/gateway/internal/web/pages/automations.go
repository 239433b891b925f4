package pages

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// changed is a question whose answer is empty.
func changed(rpc string, in apicall.Input) *apicall.Unary[*emptypb.Empty] {
	return apicall.New[*emptypb.Empty](rpc, in)
}

// automationPages are the list of automations and the page of one.
func automationPages() []page.Page {
	return []page.Page{
		{
			Pattern: "/automations",
			Section: "/automations",
			Needs:   []string{orchv1.AutomationService_ReadAutomations_FullMethodName},
			Show:    showAutomations,
		},
		{
			Pattern: "/automations/automation/{id}",
			Section: "/automations",
			Needs:   []string{orchv1.AutomationService_ReadAutomation_FullMethodName},
			Uses:    []string{orchv1.AutomationService_ReadAutomationHistory_FullMethodName},
			Show:    showAutomation,
			Actions: []page.Action{
				{Name: "enable-automation", Calls: []string{orchv1.AutomationService_PatchAutomation_FullMethodName}, Done: "The automation is enabled.", Do: enableAutomation("enable-automation", true)},
				{Name: "delete-automation", Calls: []string{orchv1.AutomationService_DeleteAutomation_FullMethodName}, Done: "The automation is deleted.", Do: deleteAutomation},
				{Name: "disable-automation", Calls: []string{orchv1.AutomationService_PatchAutomation_FullMethodName}, Done: "The automation is disabled.", Do: enableAutomation("disable-automation", false)},
			},
		},
		automationNewPage(), automationEditPage(),
	}
}

func enableAutomation(name string, enabled bool) func(*page.Request) (page.View, error) {
	return func(r *page.Request) (page.View, error) {
		if err := r.Call(changed(orchv1.AutomationService_PatchAutomation_FullMethodName, apicall.Input{
			Path: map[string]string{"id": r.Vars["id"]}, Body: apicall.JSON{"enabled": enabled},
		})); err != nil {
			return page.View{}, err
		}
		return r.Done(r.Here(), name, -1), nil
	}
}

func showAutomations(r *page.Request) (page.View, error) {
	body, q, skip, err := listBody(r, "automations", "NAME_ASC")
	if err != nil {
		return page.View{}, err
	}
	if q != "" {
		body["automations"] = apicall.JSON{"name": any_([]string{q})}
	}
	automations := apicall.New[*orchv1.AutomationList](orchv1.AutomationService_ReadAutomations_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(automations); err != nil {
		return page.View{}, err
	}
	list, more := cut(automations.Result().GetAutomations(), param50)
	v := listView{Title: "Automations", Path: r.Path(), Table: table{Columns: []string{"Automation", "When", "Then", "Enabled"}, Empty: "No automation yet. An automation acts when events come, or do not come."}}
	for _, a := range list {
		v.Table.add(link(r.To("automations", "automation", a.GetId()), a.GetName()), text(triggerSentence(a.GetTrigger())), text(actionWords(a)), yes(a.GetEnabled(), "enabled", "disabled"))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	if r.May(orchv1.AutomationService_CreateAutomation_FullMethodName) {
		v.Links = append(v.Links, tab{Title: "New automation", Path: r.To("automations", "new")})
	}
	return page.View{Title: "Automations", Template: "list.html", Data: v}, nil
}

func showAutomation(r *page.Request) (page.View, error) {
	a, err := readAutomation(r)
	if err != nil {
		return page.View{}, err
	}
	history := apicall.New[*orchv1.AutomationHistory](orchv1.AutomationService_ReadAutomationHistory_FullMethodName, apicall.ID(a.GetId()))
	_ = r.Call(history) // Its panel says what it misses.
	firings := &table{Columns: []string{"Fired", "Actions", "Triggering event"}, Empty: "It has not fired yet."}
	for _, f := range history.Result().GetFirings() {
		event := cell{}
		if f.TriggeringEventId != nil {
			event = link(r.To("events", "event", stamp(f.GetTriggered().AsTime())[:10], f.GetTriggeringEventId()), f.GetTriggeringEventId()[:8])
		}
		firings.add(timeCell(r, f.GetTriggered()), count(int64(len(f.GetActions()))), event)
	}
	v := detailView{
		Kind: "Automation", Title: show.Line(a.GetName(), 80), ID: show.ID(a.GetId()), Description: show.Markdown(a.GetDescription()),
		Pairs: pairs(
			pair{"When", cell{Text: triggerSentence(a.GetTrigger())}}, pair{"Then", text(actionWords(a))},
			pair{"Enabled", yes(a.GetEnabled(), "yes", "no")}, pair{"Tags", mark(show.Tags(a.GetTags()))}, pair{"Updated", timeCell(r, a.GetUpdated())},
		),
		Panels: []panel{{Title: "Last firings", Table: firings, Problem: page.Problem(history.Err())}},
	}
	if raw, err := restjson.Marshal(a); err == nil {
		v.Panels = append(v.Panels, panel{Title: "Definition", Body: show.JSON(raw)})
	}
	if r.May(orchv1.AutomationService_PatchAutomation_FullMethodName) {
		if a.GetEnabled() {
			v.Buttons = append(v.Buttons, button{Action: "disable-automation", Title: "Disable"})
		} else {
			v.Buttons = append(v.Buttons, button{Action: "enable-automation", Title: "Enable"})
		}
	}
	if r.May(orchv1.AutomationService_UpdateAutomation_FullMethodName) {
		edit := r.To("automations", "automation", a.GetId(), "edit")
		v.Links = append(v.Links, tab{Title: "Edit", Path: edit})
		if r.May(orchv1.AutomationService_EvaluateAutomation_FullMethodName) {
			v.Links = append(v.Links, tab{Title: "Try with past events", Path: edit + "?" + tryName + "=yes#trial"})
		}
	}
	if r.May(orchv1.AutomationService_DeleteAutomation_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "delete-automation", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

// triggerSentence words a trigger.
func triggerSentence(t *orchv1.Trigger) string {
	switch kind := t.GetKind().(type) {
	case *orchv1.Trigger_Event:
		return eventSentence(kind.Event)
	case *orchv1.Trigger_Compound:
		return "of these within " + show.Duration(kind.Compound.GetWithin().AsDuration()) + ": " + sentences(kind.Compound.GetTriggers(), "; ")
	case *orchv1.Trigger_Sequence:
		return "in this order within " + show.Duration(kind.Sequence.GetWithin().AsDuration()) + ": " + sentences(kind.Sequence.GetTriggers(), ", then ")
	case *orchv1.Trigger_Metric:
		metric := kind.Metric.GetMetric()
		name, _ := restjson.EnumWord(metric.GetName().Descriptor(), metric.GetName().Number())
		operator, _ := restjson.EnumWord(metric.GetOperator().Descriptor(), metric.GetOperator().Number())
		return fmt.Sprintf("the %s is %s %g for %s", name, operator, metric.GetThreshold(), show.Duration(metric.GetFiringFor().AsDuration()))
	}
	return ""
}

func sentences(triggers []*orchv1.Trigger, separator string) string {
	var all []string
	for _, t := range triggers {
		all = append(all, triggerSentence(t))
	}
	return strings.Join(all, separator)
}

func eventSentence(t *orchv1.EventTrigger) string {
	expected := "any event"
	if len(t.GetExpect()) > 0 {
		expected = strings.Join(t.GetExpect(), " or ")
	}
	var b strings.Builder
	if t.GetPosture() == orchv1.Posture_POSTURE_PROACTIVE {
		fmt.Fprintf(&b, "%s does not come", expected)
	} else {
		b.WriteString(expected + " comes")
	}
	if n := t.GetThreshold(); n > 1 {
		b.WriteString(" " + show.Count(n) + " times")
	}
	if within := t.GetWithin().AsDuration(); within > 0 {
		b.WriteString(" within " + show.Duration(within))
	}
	if len(t.GetAfter()) > 0 {
		b.WriteString(" after " + strings.Join(t.GetAfter(), " or "))
	}
	if len(t.GetForEach()) > 0 {
		b.WriteString(" for each " + strings.Join(t.GetForEach(), ", "))
	}
	return show.Visible(b.String())
}

// actionWords names the actions, such as "run-deployment, send-notification".
func actionWords(a *orchv1.Automation) string {
	var words []string
	for _, action := range slices.Concat(a.GetActions(), a.GetActionsOnTrigger(), a.GetActionsOnResolve()) {
		m := action.ProtoReflect()
		if which := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); which != nil {
			words = append(words, strings.ReplaceAll(string(which.Name()), "_", " "))
		}
	}
	return strings.Join(words, ", ")
}
