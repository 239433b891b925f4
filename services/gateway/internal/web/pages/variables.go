package pages

import (
	"encoding/json"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// variablePages are the list of variables and the page of one.
func variablePages() []page.Page {
	return []page.Page{
		{
			Pattern: "/variables", Section: "/variables", Needs: []string{orchv1.VariableService_ReadVariables_FullMethodName}, Show: showVariables,
			Actions: []page.Action{{Name: "variable-create", Calls: []string{orchv1.VariableService_CreateVariable_FullMethodName}, Done: "The variable is created.", Do: createVariable}},
		},
		{
			Pattern: "/variables/variable/{id}", Section: "/variables",
			Needs: []string{orchv1.VariableService_ReadVariable_FullMethodName}, Uses: []string{orchv1.EventService_ReadEvents_FullMethodName}, Show: showVariable,
			Actions: []page.Action{
				{Name: "variable-edit", Calls: []string{orchv1.VariableService_UpdateVariable_FullMethodName}, Done: "The variable is changed.", Do: editVariable},
				{Name: "variable-delete", Calls: []string{orchv1.VariableService_DeleteVariable_FullMethodName}, Done: "The variable is deleted.", Do: deleteVariable},
			},
		},
	}
}

// variableFields are the fields of a variable.
func variableFields(v *orchv1.Variable) []field {
	return []field{
		{Name: "name", Label: "Name", Value: v.GetName(), Required: true, Max: 255},
		{
			Name: "value", Label: "Value", Kind: "textarea", Value: valueText(v.GetValue()), Required: true,
			Hint: "JSON; other texts stand for themselves. A text that is JSON, such as 1, stands between quotation marks.",
		},
		tagsField(v.GetTags()),
	}
}

// valueText is a JSON value for an input: a text stands for itself unless it would read as another value.
func valueText(value []byte) string {
	var text string
	if json.Unmarshal(value, &text) == nil && !json.Valid([]byte(strings.TrimSpace(text))) && strings.TrimSpace(text) != "" {
		return text
	}
	return indentJSON(value)
}

// readValue is the JSON value of what valueText has in an input.
func readValue(typed string) any {
	if trimmed := strings.TrimSpace(typed); json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	return newlines(typed)
}

func variableBody(r *page.Request) apicall.JSON {
	return apicall.JSON{"name": r.Field("name"), "value": readValue(r.Form.Get("value")), "tags": tagList(r.Field("tags"))}
}

func showVariables(r *page.Request) (page.View, error) {
	body, q, skip, err := listBody(r, "variables", "NAME_ASC")
	if err != nil {
		return page.View{}, err
	}
	variables := apicall.New[*orchv1.VariableList](orchv1.VariableService_ReadVariables_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(variables); err != nil {
		return page.View{}, err
	}
	list, more := cut(variables.Result().GetVariables(), param50)
	v := listView{Title: "Variables", Search: true, Q: q, Path: r.Path(), Table: table{
		Columns: []string{"Variable", "Value", "Tags", "Updated"}, Empty: `No variable. Flows read one by Variable.get("name").`,
	}}
	for _, variable := range list {
		v.Table.add(link(r.To("variables", "variable", variable.GetId()), variable.GetName()), text(string(variable.GetValue())), mark(show.Tags(variable.GetTags())), timeCell(r, variable.GetUpdated()))
	}
	if more {
		v.Table.Older = r.Here("skip", show.Digits(skip+param50))
	}
	if r.May(orchv1.VariableService_CreateVariable_FullMethodName) {
		v.Forms = append(v.Forms, form{Title: "New variable", Action: "variable-create", Button: "Create the variable", Fields: variableFields(nil)})
	}
	return page.View{Title: "Variables", Template: "list.html", Data: v}, nil
}

func createVariable(r *page.Request) (page.View, error) {
	created := apicall.New[*orchv1.Variable](orchv1.VariableService_CreateVariable_FullMethodName, apicall.Input{Body: variableBody(r)})
	if err := r.Call(created); err != nil {
		return refusedForm(r, showVariables, err)
	}
	return r.Done(r.To("variables", "variable", created.Result().GetId()), "variable-create", -1), nil
}

func readVariable(r *page.Request) (*orchv1.Variable, error) {
	variable := apicall.New[*orchv1.Variable](orchv1.VariableService_ReadVariable_FullMethodName, apicall.ID(r.Vars["id"]))
	err := r.Call(variable)
	return variable.Result(), err
}

func showVariable(r *page.Request) (page.View, error) {
	a, err := readVariable(r)
	if err != nil {
		return page.View{}, err
	}
	v := detailView{
		Kind: "Variable", Title: show.Line(a.GetName(), 80), ID: show.ID(a.GetId()),
		Pairs: pairs(pair{"Tags", mark(show.Tags(a.GetTags()))}, pair{"Created", timeCell(r, a.GetCreated())}, pair{"Updated", timeCell(r, a.GetUpdated())},
			pair{"Changed by", text(lastEditor(r, "variable", a.GetId()))}),
		Panels: []panel{{Title: "Value", Body: show.JSON(a.GetValue())}},
	}
	if r.May(orchv1.VariableService_UpdateVariable_FullMethodName) {
		v.Forms = append(v.Forms, form{
			Title: "Settings", Action: "variable-edit", Button: "Save the variable", Fields: variableFields(a), Hidden: versionField(a.GetUpdated()),
		})
	}
	if r.May(orchv1.VariableService_DeleteVariable_FullMethodName) {
		v.Buttons = append(v.Buttons, button{Action: "variable-delete", Title: "Delete", Class: "danger"})
	}
	return page.View{Title: v.Title, Template: "detail.html", Data: v}, nil
}

// lastEditor names the actor of the last creation or change of an object; empty if the server does not know the actor, or has deleted the
// event. Events of clients about the object do not count.
func lastEditor(r *page.Request, kind, id string) string {
	vocab := r.Server.Vocabulary
	last := apicall.New[*orchv1.EventPage](orchv1.EventService_ReadEvents_FullMethodName, apicall.Input{Body: apicall.JSON{
		"filter": apicall.JSON{
			"resource": apicall.JSON{"id": []string{vocab.Name(kind, id)}}, "order": "DESC",
			"event": apicall.JSON{"name": []string{vocab.Name(kind, "created"), vocab.Name(kind, "updated")}},
		}, "limit": 1,
	}})
	if err := r.Call(last); err != nil || len(last.Result().GetEvents()) == 0 {
		return ""
	}
	return actorLabel(r, last.Result().GetEvents()[0])
}

func editVariable(r *page.Request) (page.View, error) {
	current, err := readVariable(r)
	if err != nil {
		return page.View{}, err
	}
	if changedMeanwhile(r, current.GetUpdated()) {
		return conflictingForm(r, showVariable)
	}
	if err := r.Call(changed(orchv1.VariableService_UpdateVariable_FullMethodName, apicall.Input{Path: map[string]string{"id": r.Vars["id"]}, Body: variableBody(r)})); err != nil {
		return refusedForm(r, showVariable, err)
	}
	return r.Done(r.Path(), "variable-edit", -1), nil
}

func deleteVariable(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the variable?", Action: "variable-delete", Button: "Delete the variable", Text: "Flows that read it get the default of their call, or fail.",
		}), nil
	}
	if err := r.Call(changed(orchv1.VariableService_DeleteVariable_FullMethodName, apicall.ID(r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("variables"), "variable-delete", -1), nil
}
