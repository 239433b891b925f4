package pages

import (
	"fmt"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// automationEditPage changes an automation.
func automationEditPage() page.Page {
	return page.Page{
		Pattern: "/automations/automation/{id}/edit",
		Section: "/automations",
		Needs:   []string{orchv1.AutomationService_ReadAutomation_FullMethodName, orchv1.AutomationService_UpdateAutomation_FullMethodName},
		Uses:    automationEditorCalls,
		Show: func(r *page.Request) (page.View, error) {
			e, a, err := changedAutomationEditor(r)
			if err != nil {
				return page.View{}, err
			}
			definition, err := automationDefinition(a)
			if err != nil {
				return page.View{}, err
			}
			if err := e.fill(definition); err != nil {
				return page.View{}, err
			}
			if r.HTTP.URL.Query().Has(tryName) {
				e.try(jsontree.Text(definition))
			}
			return e.view(), nil
		},
		Actions: []page.Action{{
			Name: "automation-edit", Calls: []string{orchv1.AutomationService_UpdateAutomation_FullMethodName},
			Done: "The automation is saved.", Do: editAutomation,
		}},
	}
}

// changedAutomationEditor returns the page of a stored automation, without its form.
func changedAutomationEditor(r *page.Request) (*automationEditor, *orchv1.Automation, error) {
	a, err := readAutomation(r)
	if err != nil {
		return nil, nil, err
	}
	return &automationEditor{
		request: r, Title: "Edit " + show.Line(a.GetName(), 80), Action: "automation-edit", Button: "Save the automation",
		Path: r.Path(), Back: r.To("automations", "automation", a.GetId()), Version: versionField(a.GetUpdated()),
	}, a, nil
}

func readAutomation(r *page.Request) (*orchv1.Automation, error) {
	automation := apicall.New[*orchv1.Automation](orchv1.AutomationService_ReadAutomation_FullMethodName, apicall.ID(r.Vars["id"]))
	err := r.Call(automation)
	return automation.Result(), err
}

// automationDefinition is the part of an automation that its owner changes, in the order of the fields. It has no ids of triggers, because
// the server gives them new ones with each change.
func automationDefinition(a *orchv1.Automation) (*jsontree.Object, error) {
	raw, err := restjson.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encode automation: %w", err)
	}
	all, err := jsontree.ParseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("decode automation: %w", err)
	}
	definition := jsontree.NewObject()
	fields := (&orchv1.AutomationUpdate{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		if value, given := all.Get(name); given {
			definition.Set(name, value)
		}
	}
	eachTrigger(definition.Object("trigger"), nil, func(trigger *jsontree.Object, _ []string) { trigger.Delete("id") })
	return definition, nil
}

func editAutomation(r *page.Request) (page.View, error) {
	e, a, err := changedAutomationEditor(r)
	if err != nil {
		return page.View{}, err
	}
	body, ok, err := e.read()
	switch {
	case err != nil:
		return page.View{}, err
	case !ok:
		return e.view(), nil
	case changedMeanwhile(r, a.GetUpdated()):
		return e.conflict(body, a)
	}
	in := apicall.ID(r.Vars["id"])
	in.Body = body
	if err := r.Call(changed(orchv1.AutomationService_UpdateAutomation_FullMethodName, in)); err != nil {
		return e.refused(err)
	}
	return r.Done(e.Back, "automation-edit", -1), nil
}

func deleteAutomation(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		a, err := readAutomation(r)
		if err != nil {
			return page.View{}, err
		}
		return confirm(r, confirmView{
			Title: "Delete the automation " + show.Line(a.GetName(), 80) + "?", Action: "delete-automation", Button: "Delete the automation",
			Text: "It no longer acts on events. What it did stays.",
		}), nil
	}
	if err := r.Call(changed(orchv1.AutomationService_DeleteAutomation_FullMethodName, apicall.ID(r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("automations"), "delete-automation", -1), nil
}
