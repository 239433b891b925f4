package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// automationEditor is the data of the page that makes or changes an automation: as a form, or as JSON. Two buttons turn one into the other.
type automationEditor struct {
	request *page.Request

	Title, Action, Button, Path, Back string
	Form                              schemaForm
	// IsText shows JSON in place of the form. Reason says why there is no form.
	IsText       bool
	JSON, Reason string
	Problems     []string
	Version      []hiddenField
	Templates    []tab
	// events are the names in the address of a new automation.
	events []string
	// Types lead to the form for the events of one name. Sample is the last event of the name that was chosen.
	Types  []tab
	Sample markup.Markup
	// MayTry shows the button that evaluates the automation over stored events; Trial has the result.
	MayTry bool
	Trial  *automationTrial
	status int
}

// The names of the text and of the buttons that turn the form into JSON and back.
const (
	jsonName     = "json"
	showJSONName = "show-json"
	showFormName = "show-form"
	tryName      = "try"
)

func (e *automationEditor) view() page.View {
	if e.Templates != nil {
		e.Types, e.Sample = examples(e.request, e.events)
	}
	e.MayTry = e.request.May(orchv1.AutomationService_EvaluateAutomation_FullMethodName)
	view := page.View{Title: e.Title, Template: "automation_editor.html", Data: e, Status: e.status}
	if !e.IsText {
		offerObjects(e.request, &e.Form)
		if view.Status == 0 {
			view.Status = e.Form.status()
		}
	}
	return view
}

// fill shows a definition as a form, or as JSON if the form cannot show it.
func (e *automationEditor) fill(definition *jsontree.Object) error {
	form, lost, err := automationFormOf(e.request, definition)
	if err != nil {
		return err
	}
	e.Form, e.IsText = form, lost != ""
	if e.IsText {
		e.JSON, e.Reason = indentJSON(jsontree.Text(definition)), "The form cannot show "+show.Line(lost, 200)+" as it is, so this page shows the automation as JSON."
	}
	return nil
}

// read returns the posted definition. ok is false if the response is the page again: with errors, as JSON in place of the form or the
// reverse, or with the trial of the automation.
func (e *automationEditor) read() (body json.RawMessage, ok bool, err error) {
	body, ok, err = e.readDefinition()
	if ok && e.request.Form.Has(tryName) {
		e.try(body)
		return nil, false, nil
	}
	return body, ok, err
}

func (e *automationEditor) readDefinition() (body json.RawMessage, ok bool, err error) {
	posted := e.request.Form
	if e.IsText = posted.Has(jsonName); e.IsText {
		return e.readText(newlines(posted.Get(jsonName)))
	}
	if e.Form, err = newAutomationForm(e.request, jsontree.NewObject()); err != nil {
		return nil, false, err
	}
	values, read := e.Form.read(e.request)
	if posted.Has(showJSONName) {
		if !e.Form.unreadable() {
			e.IsText, e.JSON = true, indentJSON(jsontree.Text(e.Form.automation(values)))
		}
		return nil, false, nil
	}
	definition := e.Form.automation(values)
	return jsontree.Text(definition), read && !e.Form.failed(), nil
}

func (e *automationEditor) readText(text string) (body json.RawMessage, ok bool, err error) {
	e.JSON = text
	definition, invalid := jsontree.ParseObject([]byte(text))
	switch {
	case invalid != nil:
		e.problem(http.StatusUnprocessableEntity, "The automation is not a JSON object: "+invalid.Error())
	case e.request.Form.Has(showFormName):
		err = e.fill(definition)
	default:
		return json.RawMessage(text), true, nil
	}
	return nil, false, err
}

func (e *automationEditor) problem(status int, texts ...string) {
	e.status, e.Problems = status, append(e.Problems, texts...)
}

// refused shows the page again with the reasons why the server refused the values, beside their fields. Other errors are returned.
func (e *automationEditor) refused(err error) (page.View, error) {
	if !refusesValues(err) {
		return page.View{}, err
	}
	e.refuse(err)
	return e.view(), nil
}

func (e *automationEditor) refuse(err error) {
	status := int(rpc.HTTPError(err).GetStatus())
	fields := rpc.HTTPError(err).GetFieldErrors().GetErrors()
	switch {
	case e.IsText:
		problems, _ := formProblems(err)
		e.problem(status, problems...)
	case len(fields) == 0:
		e.problem(status, page.Problem(err))
	default:
		e.status = status
		e.Form.placeErrors(fields)
	}
}

// placeErrors puts errors of the API beside the fields of their values, or above the form. The automation is the body of a change, and a
// member of the body of an evaluation.
func (f *schemaForm) placeErrors(errors []*orchv1.FieldError) {
	for _, one := range errors {
		var path []string
		for _, part := range one.GetLoc() {
			switch key := part.GetKey(); {
			case key == "":
				path = append(path, strconv.FormatInt(part.GetIndex(), 10))
			case key != "body":
				path = append(path, key)
			}
		}
		if len(path) > 0 && path[0] == "automation" {
			path = path[1:]
		}
		f.placeReason(show.Line(one.GetMsg(), 300), path)
	}
}

// conflict shows the page again after someone else changed the automation, with the values that it has now.
func (e *automationEditor) conflict(typed json.RawMessage, stored *orchv1.Automation) (page.View, error) {
	now, err := automationDefinition(stored)
	if err != nil {
		return page.View{}, err
	}
	e.problem(http.StatusConflict, meanwhile+"Saving again replaces the values of the other person.")
	mine, err := jsontree.ParseObject(typed)
	if err != nil {
		return page.View{}, fmt.Errorf("decode the typed automation: %w", err)
	}
	for _, m := range now.Members() {
		if _, differ := difference(m.Value, member(mine, m.Key), nil); differ {
			e.problem(http.StatusConflict, m.Key+" is now "+show.Line(string(jsontree.Text(m.Value)), 300))
		}
	}
	return e.view(), nil
}

// unreadable reports that some input does not parse, so a text of the values would lose it.
func (f *schemaForm) unreadable() bool {
	return len(f.Errors) > 0 || slices.ContainsFunc(f.Fields, func(field schemaField) bool { return field.Error != "" && field.Error != valueRequired })
}
