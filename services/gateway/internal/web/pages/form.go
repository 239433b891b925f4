package pages

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
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
	status := int(rpc.HTTPError(err).GetStatus())
	if status == 0 {
		status = http.StatusUnprocessableEntity
	}
	return refilled(r, view, status, problems, invalid), nil
}

// invalidForm shows a page again whose form has values that cannot be sent.
func invalidForm(r *page.Request, show func(*page.Request) (page.View, error), problems []string, invalid map[string]bool) (page.View, error) {
	view, err := show(r)
	if err != nil {
		return page.View{}, err
	}
	return refilled(r, view, http.StatusUnprocessableEntity, problems, invalid), nil
}

// refilled gives the form of a view that was posted its values and problems back.
func refilled(r *page.Request, view page.View, status int, problems []string, invalid map[string]bool) page.View {
	view.Status = status
	forms := formsOf(view.Data)
	for i := range forms {
		forms[i].refill(r, invalid, problems)
	}
	return view
}

// meanwhile begins the explanation of a conflict.
const meanwhile = "Someone else has changed this since you opened the page; nothing is saved yet. "

// versionName is the hidden field with the time of the last change of the object that a form shows.
const versionName = "updated"

func versionField(updated *timestamppb.Timestamp) []hiddenField {
	return []hiddenField{{versionName, updated.AsTime().Format(time.RFC3339Nano)}}
}

// changedMeanwhile reports whether the object of a posted form was changed after the form was made.
func changedMeanwhile(r *page.Request, updated *timestamppb.Timestamp) bool {
	posted := r.Field(versionName)
	return posted != "" && posted != updated.AsTime().Format(time.RFC3339Nano)
}

// conflictingForm shows a page again whose object was changed after its form was made. The form keeps what the reader typed, names the
// values that the object has now, and replaces them when it is sent again.
func conflictingForm(r *page.Request, show func(*page.Request) (page.View, error)) (page.View, error) {
	view, err := show(r)
	if err != nil {
		return page.View{}, err
	}
	var differences []string
	for _, f := range formsOf(view.Data) {
		if f.Action == r.Form.Get("action") {
			differences = f.differences(r)
		}
	}
	return refilled(r, view, http.StatusConflict, append([]string{meanwhile + "Saving again replaces the values of the other person."}, differences...), nil), nil
}

// differences names the fields whose current values differ from what the reader typed.
func (f form) differences(r *page.Request) []string {
	var all []string
	for _, one := range f.Fields {
		now, typed := one.Value, r.Form.Get(one.Name)
		if one.Kind == "checkbox" {
			now, typed = yesOrNo(one.Checked), yesOrNo(typed != "")
		}
		for _, c := range one.Choices {
			if c.Selected {
				now = c.Value
			}
		}
		if strings.TrimSpace(newlines(now)) != strings.TrimSpace(newlines(typed)) {
			all = append(all, one.Label+" is now "+show.Line(now, 120))
		}
	}
	return all
}

func yesOrNo(flag bool) string {
	if flag {
		return "yes"
	}
	return "no"
}

// tagsField is the field of an object's tags.
func tagsField(tags []string) field {
	return field{Name: "tags", Label: "Tags", Value: strings.Join(tags, ", "), Hint: "Separated by commas"}
}

// tagList returns the tags of a field.
func tagList(text string) []string {
	tags := []string{}
	for tag := range strings.SplitSeq(text, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// indentJSON returns JSON as people write it.
func indentJSON(raw []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// formsOf returns the forms of a view, which share their fields with it.
func formsOf(data any) []form {
	switch v := data.(type) {
	case listView:
		return v.Forms
	case detailView:
		return v.Forms
	case benchView:
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
