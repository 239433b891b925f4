package pages

import (
	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// automationNewPage makes an automation from a template, or of the events that the address names.
func automationNewPage() page.Page {
	return page.Page{
		Pattern: "/automations/new",
		Section: "/automations",
		Needs:   []string{orchv1.AutomationService_CreateAutomation_FullMethodName},
		Uses:    append([]string{readEventTypes, orchv1.EventService_ReadEvents_FullMethodName}, automationEditorCalls...),
		Show: func(r *page.Request) (page.View, error) {
			e, draft, err := newAutomationEditor(r)
			if err != nil {
				return page.View{}, err
			}
			if e.Form, err = newAutomationForm(r, draft); err != nil {
				return page.View{}, err
			}
			return e.view(), nil
		},
		Actions: []page.Action{{
			Name: "automate", Calls: []string{orchv1.AutomationService_CreateAutomation_FullMethodName},
			Done: "The automation is created.",
			Do:   createAutomation,
		}},
	}
}

// newAutomationEditor returns the page of a new automation, and the values of its template.
func newAutomationEditor(r *page.Request) (*automationEditor, *jsontree.Object, error) {
	template, events, resources := chosenTemplate(r), r.Texts("event"), r.Texts("resource")
	if err := r.Err(); err != nil {
		return nil, nil, err
	}
	draft, err := template.draft(r.Server.Vocabulary, events, resources)
	if err != nil {
		return nil, nil, err
	}
	e := &automationEditor{request: r, Title: "New automation", Action: "automate", Button: "Create the automation", Path: r.Here(), Back: r.To("automations"), events: events}
	for _, t := range automationTemplates {
		e.Templates = append(e.Templates, tab{Title: t.title, Path: r.Here("template", t.name, "event", "", "resource", ""), Current: t.name == template.name && len(events) == 0})
	}
	return e, draft, nil
}

// examples returns links to the form for each event type, and the last event of the first name.
func examples(r *page.Request, names []string) (types []tab, sample markup.Markup) {
	if r.May(readEventTypes) {
		list := apicall.New[*orchv1.EventTypeList](readEventTypes, apicall.Input{Body: apicall.JSON{"limit": maxExamples}})
		_ = r.Call(list) // The form serves without them.
		for _, t := range list.Result().GetEventTypes() {
			types = append(types, tab{Title: show.Line(t.GetName(), 60), Path: automateLink(r, []string{t.GetName()}, nil)})
		}
	}
	if len(names) > 0 && r.May(orchv1.EventService_ReadEvents_FullMethodName) {
		last := lastEvents(apicall.JSON{"event": prefixes("name", "prefix", names[:1])}, 1)
		if err := r.Call(last); err == nil {
			sample = sampleOf(last)
		}
	}
	return types, sample
}

// maxExamples bounds the event types of the form.
const maxExamples = 100

func createAutomation(r *page.Request) (page.View, error) {
	e, _, err := newAutomationEditor(r)
	if err != nil {
		return page.View{}, err
	}
	body, ok, err := e.read()
	if err != nil || !ok {
		return e.view(), err
	}
	created := apicall.New[*orchv1.Automation](orchv1.AutomationService_CreateAutomation_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(created); err != nil {
		return e.refused(err)
	}
	return r.Done(r.To("automations", "automation", created.Result().GetId()), "automate", -1), nil
}
