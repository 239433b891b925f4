package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// automationEditPage changes an automation as JSON.
func automationEditPage() page.Page {
	return page.Page{
		Pattern: "/automations/automation/{id}/edit",
		Section: "/automations",
		Needs:   []string{orchv1.AutomationService_ReadAutomation_FullMethodName, orchv1.AutomationService_UpdateAutomation_FullMethodName},
		Show: func(r *page.Request) (page.View, error) {
			a, err := readAutomation(r)
			if err != nil {
				return page.View{}, err
			}
			definition, err := automationDefinition(a)
			if err != nil {
				return page.View{}, err
			}
			return automationEditForm(r, a, definition, nil), nil
		},
		Actions: []page.Action{{
			Name: "automation-edit", Calls: []string{orchv1.AutomationService_UpdateAutomation_FullMethodName},
			Done: "The automation is saved.", Do: editAutomation,
		}},
	}
}

func readAutomation(r *page.Request) (*orchv1.Automation, error) {
	automation := apicall.New[*orchv1.Automation](orchv1.AutomationService_ReadAutomation_FullMethodName, apicall.ID(r.Vars["id"]))
	err := r.Call(automation)
	return automation.Result(), err
}

// automationDefinition is the part of an automation that its owner changes, as indented JSON in the order of the fields.
func automationDefinition(a *orchv1.Automation) (string, error) {
	raw, err := restjson.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("encode automation: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return "", fmt.Errorf("decode automation: %w", err)
	}
	var compact, indented bytes.Buffer
	compact.WriteByte('{')
	fields := (&orchv1.AutomationUpdate{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		if len(all[name]) == 0 {
			continue
		}
		if compact.Len() > 1 {
			compact.WriteByte(',')
		}
		fmt.Fprintf(&compact, "%q:%s", name, all[name])
	}
	compact.WriteByte('}')
	if err := json.Indent(&indented, compact.Bytes(), "", "  "); err != nil {
		return "", fmt.Errorf("indent automation: %w", err)
	}
	return indented.String(), nil
}

func automationEditForm(r *page.Request, a *orchv1.Automation, text string, err error) page.View {
	v := automateView{
		Title: "Edit " + show.Line(a.GetName(), 80), Action: "automation-edit", Button: "Save the automation",
		JSON: text, Path: r.Path(), Back: r.To("automations", "automation", a.GetId()),
	}
	return v.view(err)
}

func editAutomation(r *page.Request) (page.View, error) {
	a, err := readAutomation(r)
	if err != nil {
		return page.View{}, err
	}
	text := newlines(r.Form.Get("json"))
	body, valid := jsonObject(text)
	if !valid {
		return automationEditForm(r, a, text, errNoObject), nil
	}
	in := apicall.ID(r.Vars["id"])
	in.Body = body
	if err := r.Call(changed(orchv1.AutomationService_UpdateAutomation_FullMethodName, in)); err != nil {
		if !refusesValues(err) {
			return page.View{}, err
		}
		return automationEditForm(r, a, text, err), nil
	}
	return r.Done(r.To("automations", "automation", a.GetId()), "automation-edit", -1), nil
}

var errNoObject = rpc.Detail(http.StatusUnprocessableEntity, "The automation is not a JSON object.")

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
