package pages

import (
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// form is a form of a page with its fields. It posts to the page's own path.
type form struct {
	Title, Text, Action, Button, Class string
	Fields                             []field
	Hidden                             []hiddenField
	Problems                           []string
}

// field is a control of a form.
type field struct {
	// Name is that of the form field, and of the field in the API that a 422 names.
	Name, Label, Value, Hint string
	// Kind is "select", "checkbox", "textarea" or the type of an input; empty means "text".
	Kind    string
	Choices []choice
	// Checked is the state of a checkbox.
	Checked  bool
	Required bool
	Invalid  bool
	Max      int
}

// selectField is a field with choices.
func selectField(name, label, selected string, choices []choice) field {
	f := field{Name: name, Label: label, Kind: "select", Choices: choices}
	for i := range f.Choices {
		f.Choices[i].Selected = f.Choices[i].Value == selected
	}
	return f
}

// refill sets what the reader typed, if the form was posted, and marks the fields that the server refused.
func (f *form) refill(r *page.Request, invalid map[string]bool, problems []string) {
	if r.Form.Get("action") != f.Action {
		return
	}
	f.Problems = problems
	for i := range f.Fields {
		to := &f.Fields[i]
		to.Value, to.Checked, to.Invalid = r.Form.Get(to.Name), r.Form.Get(to.Name) != "", invalid[to.Name]
		for j := range to.Choices {
			to.Choices[j].Selected = to.Choices[j].Value == to.Value
		}
	}
}

// refusedForm shows a page again after the server refused the values of one of its forms. Other errors are returned.
func refusedForm(r *page.Request, show func(*page.Request) (page.View, error), err error) (page.View, error) {
	if !refusesValues(err) {
		return page.View{}, err
	}
	view, errShow := show(r)
	if errShow != nil {
		return page.View{}, errShow
	}
	problems, invalid := formProblems(err)
	view.Status = int(rpc.HTTPError(err).GetStatus())
	if view.Status == 0 {
		view.Status = http.StatusUnprocessableEntity
	}
	forms := formsOf(view.Data)
	for i := range forms {
		forms[i].refill(r, invalid, problems)
	}
	return view, nil
}

// formsOf returns the forms of a view, which share their fields with it.
func formsOf(data any) []form {
	switch v := data.(type) {
	case listView:
		return v.Forms
	case detailView:
		return v.Forms
	}
	return nil
}

// secretView is the data of a page that shows a new secret once.
type secretView struct {
	Title, Text, Secret string
	Back                string
}

// showSecret responds with a new secret. It is no redirect: an address must not hold it, and nothing stores it.
func showSecret(title, text, secret, back string) page.View {
	return page.View{Title: title, Template: "secret.html", Data: secretView{Title: title, Text: text, Secret: secret, Back: back}}
}
