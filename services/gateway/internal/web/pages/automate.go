package pages

import (
	"encoding/json"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// automateView is the data of the form of an automation for events.
type automateView struct {
	Title, Action, Button string
	// Hint explains the text of a new automation.
	Hint, JSON, Path, Back string
	Problems               []string
	// Types lead to the form for the events of one name. Sample is the last event of the name that was chosen.
	Types  []tab
	Sample markup.Markup
}

// view shows the form, with what the server refused.
func (v automateView) view(err error) page.View {
	view := page.View{Title: v.Title, Template: "automate.html"}
	if err != nil {
		view.Status = http.StatusUnprocessableEntity
		v.Problems, _ = formProblems(err)
	}
	view.Data = v
	return view
}

// automatePage makes an automation of the events that the address names.
func automatePage() page.Page {
	return page.Page{
		Pattern: "/events/automate",
		Section: "/events",
		Needs:   []string{orchv1.AutomationService_CreateAutomation_FullMethodName},
		Uses:    []string{readEventTypes, orchv1.EventService_ReadEvents_FullMethodName},
		Show: func(r *page.Request) (page.View, error) {
			names, resources := r.Texts("event"), r.Texts("resource")
			if err := r.Err(); err != nil {
				return page.View{}, err
			}
			draft, err := json.MarshalIndent(draftAutomation(r, names, resources), "", "  ")
			if err != nil {
				return page.View{}, err
			}
			return automateForm(r, string(draft), nil), nil
		},
		Actions: []page.Action{{
			Name: "automate", Calls: []string{orchv1.AutomationService_CreateAutomation_FullMethodName},
			Done: "The automation is created.",
			Do:   createAutomation,
		}},
	}
}

// draftAutomation is an automation that does nothing yet.
func draftAutomation(r *page.Request, names, resources []string) apicall.JSON {
	match := apicall.JSON{}
	if len(resources) > 0 {
		match[r.Server.Vocabulary.ResourceID()] = resources
	}
	name := "on events"
	if len(names) > 0 {
		name = "on " + show.Line(names[0], 100)
	} else {
		names = []string{}
	}
	return apicall.JSON{
		"name": name,
		"trigger": apicall.JSON{
			"type": "event", "posture": "Reactive", "expect": names, "match": match, "threshold": 1, "within": 0,
		},
		"actions": []apicall.JSON{{"type": "do-nothing"}},
	}
}

func automateForm(r *page.Request, text string, err error) page.View {
	v := automateView{
		Title: "New automation", Action: "automate", Button: "Create the automation", JSON: text, Path: r.Path(), Back: r.To("events"),
		Hint: `It fires on the events that you came from. Replace the action do-nothing, for example by {"type": "run-deployment", "source": "selected", "deployment_id": "…"}.`,
	}
	v.Types, v.Sample = examples(r, r.Texts("event"))
	return v.view(err)
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
	text := newlines(r.Form.Get("json"))
	body, valid := jsonObject(text)
	if !valid {
		return automateForm(r, text, errNoObject), nil
	}
	created := apicall.New[*orchv1.Automation](orchv1.AutomationService_CreateAutomation_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(created); err != nil {
		if rpc.HTTPError(err).GetStatus() != http.StatusUnprocessableEntity {
			return page.View{}, err
		}
		return automateForm(r, text, err), nil
	}
	return r.Done(r.To("automations", "automation", created.Result().GetId()), "automate", -1), nil
}

func jsonObject(text string) (_ map[string]json.RawMessage, valid bool) {
	var body map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &body)
	return body, err == nil && body != nil
}
