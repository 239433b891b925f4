package pages

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/ask"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

func rawJSON(raw []byte) json.RawMessage { return json.RawMessage(raw) }

// runForm is the data of the form that runs a deployment.
type runForm struct {
	Title, Path, Back string
	Fields            []formField
	// JSON is the text of all parameters, for a deployment without a schema.
	JSON       string
	UsesJSON   bool
	Name, Tags string
	Start      string
	Errors     []string
}

// formField is an input for one parameter.
type formField struct {
	Name, Title, Hint, Value, Error string
	// Kind is "text", "number", "checkbox", "choice" or "json".
	Kind     string
	Checked  bool
	Required bool
	Choices  []choice
}

func deploymentRunPage() page.Page {
	return page.Page{
		Pattern: "/deployments/deployment/{id}/run",
		Section: "/deployments",
		Needs: []string{
			orchv1.DeploymentService_ReadDeployment_FullMethodName, orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName,
		},
		Uses: []string{orchv1.FlowRunService_ReadFlowRun_FullMethodName},
		Show: func(r *page.Request) (page.View, error) {
			like := r.UUIDs("like")
			if err := r.Err(); err != nil {
				return page.View{}, err
			}
			d, err := readDeployment(r)
			if err != nil {
				return page.View{}, err
			}
			values, err := jsontree.ParseObject(d.GetParameters())
			if err != nil {
				values = jsontree.NewObject()
			}
			if len(like) > 0 {
				run := ask.New[*orchv1.FlowRun](orchv1.FlowRunService_ReadFlowRun_FullMethodName, ask.ID(like[0]))
				if err := r.Ask(run); err != nil {
					return page.View{}, err
				}
				if parameters, err := jsontree.ParseObject(run.Answer().GetParameters()); err == nil {
					for _, m := range parameters.Members() {
						values.Set(m.Key, m.Value)
					}
				}
			}
			return newRunForm(r, d, values).view(), nil
		},
		Actions: []page.Action{{
			Name: "run-deployment", Calls: []string{orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName},
			Done: "The run is scheduled.", Do: runDeployment,
		}},
	}
}

func readDeployment(r *page.Request) (*orchv1.Deployment, error) {
	d := ask.New[*orchv1.Deployment](orchv1.DeploymentService_ReadDeployment_FullMethodName, ask.ID(r.Vars["id"]))
	err := r.Ask(d)
	return d.Answer(), err
}

func (f runForm) view() page.View {
	status := http.StatusOK
	if len(f.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return page.View{Status: status, Title: f.Title, Template: "run_form.html", Data: f}
}

// newRunForm builds the inputs from the parameter schema and fills them with values.
func newRunForm(r *page.Request, d *orchv1.Deployment, values *jsontree.Object) runForm {
	f := runForm{Title: "Run " + show.Line(d.GetName(), 80), Path: r.Here("like", ""), Back: r.To("deployments", "deployment", d.GetId())}
	schema, err := jsontree.ParseObject(d.GetParameterOpenapiSchema())
	properties := schema.Object("properties")
	if err != nil || properties.Len() == 0 {
		f.UsesJSON, f.JSON = true, indent(values)
		return f
	}
	var required []string
	if list, ok := member(schema, "required").(jsontree.List); ok {
		for _, name := range list {
			required = append(required, fmt.Sprint(name))
		}
	}
	members := slices.Clone(properties.Members())
	slices.SortStableFunc(members, func(a, b jsontree.Member) int { return position(a) - position(b) })
	for _, m := range members {
		property, _ := m.Value.(*jsontree.Object)
		value, given := values.Get(m.Key)
		if !given {
			value = member(property, "default")
		}
		field := newField(m.Key, property, value)
		field.Required = slices.Contains(required, m.Key) && field.Kind != "checkbox"
		f.Fields = append(f.Fields, field)
	}
	return f
}

func member(o *jsontree.Object, key string) jsontree.Value {
	v, _ := o.Get(key)
	return v
}

func position(m jsontree.Member) int {
	property, _ := m.Value.(*jsontree.Object)
	if n, ok := member(property, "position").(json.Number); ok {
		if i, err := n.Int64(); err == nil && i >= 0 && i < 10_000 {
			return int(i)
		}
	}
	return 10_000
}

func newField(name string, property *jsontree.Object, value jsontree.Value) formField {
	f := formField{Name: "p." + name, Title: show.Line(name, 60), Hint: show.Line(property.Text("description"), 300)}
	list, isChoice := member(property, "enum").(jsontree.List)
	switch kind := property.Text("type"); {
	case isChoice:
		f.Kind = "choice"
		for _, option := range list {
			f.Choices = append(f.Choices, choice{Value: string(jsontree.Text(option)), Title: plain(option), Selected: jsontree.Equal(option, value)})
		}
	case kind == "boolean":
		f.Kind, f.Checked = "checkbox", value == true
	case kind == "integer" || kind == "number":
		f.Kind, f.Value = "number", plain(value)
	case kind == "string":
		f.Kind, f.Value = "text", plain(value)
	default:
		f.Kind = "json"
		if value != nil {
			f.Value = string(jsontree.Text(value))
		}
	}
	return f
}

// plain formats a scalar for an input; null is empty.
func plain(v jsontree.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(jsontree.Text(v))
}

func indent(o *jsontree.Object) string {
	var out strings.Builder
	raw := jsontree.Text(o)
	encoded, err := json.MarshalIndent(json.RawMessage(raw), "", "  ")
	if err != nil {
		return string(raw)
	}
	out.Write(encoded)
	return out.String()
}

// runDeployment creates the run. Values that do not parse, and those that the server refuses, come back in the form.
func runDeployment(r *page.Request) (page.View, error) {
	d, err := readDeployment(r)
	if err != nil {
		return page.View{}, err
	}
	form := newRunForm(r, d, jsontree.NewObject())
	parameters := ask.JSON{}
	if form.UsesJSON {
		form.JSON = r.Form.Get("parameters")
		if object, err := jsontree.ParseObject([]byte(form.JSON)); err == nil {
			for _, m := range object.Members() {
				parameters[m.Key] = rawJSON(jsontree.Text(m.Value))
			}
		} else {
			form.Errors = append(form.Errors, "The parameters are not a JSON object: "+err.Error())
		}
	}
	for i := range form.Fields {
		field := &form.Fields[i]
		name := strings.TrimPrefix(field.Name, "p.")
		value, problem := field.read(r)
		if problem != "" {
			field.Error = problem
			form.Errors = append(form.Errors, field.Title+": "+problem)
		} else if value != nil {
			parameters[name] = value
		}
	}
	form.Name, form.Tags, form.Start = r.Field("name"), r.Field("tags"), r.Field("start")
	body := ask.JSON{"parameters": parameters}
	if form.Name != "" {
		body["name"] = form.Name
	}
	if tags := strings.FieldsFunc(form.Tags, func(c rune) bool { return c == ',' || c == ' ' }); len(tags) > 0 {
		body["tags"] = tags
	}
	if form.Start != "" {
		at, err := time.ParseInLocation("2006-01-02T15:04", form.Start, r.Zone)
		if err != nil {
			form.Errors = append(form.Errors, "Start: not a time such as 2030-01-31T12:00")
		}
		body["state"] = ask.JSON{"type": "SCHEDULED", "state_details": ask.JSON{"scheduled_time": at}}
	}
	if len(form.Errors) > 0 {
		return form.view(), nil
	}
	run := ask.New[*orchv1.FlowRun](orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName, ask.Input{
		Path: map[string]string{"id": r.Vars["id"]}, Body: body,
	})
	if err := r.Ask(run); err != nil {
		if status := rpc.HTTPError(err).GetStatus(); status != http.StatusUnprocessableEntity && status != http.StatusConflict || errors.Is(err, ask.ErrNotAllowed) {
			return page.View{}, err
		}
		form.Errors = append(form.Errors, page.Problem(err))
		return form.view(), nil
	}
	return r.Done(r.To("runs", "flow-run", run.Answer().GetId()), "run-deployment", -1), nil
}

// read returns the JSON value of an input, nil for an absent one, and keeps what was typed.
func (f *formField) read(r *page.Request) (value any, problem string) {
	typed := r.Form.Get(f.Name)
	f.Value = typed
	switch f.Kind {
	case "checkbox":
		f.Checked = typed != ""
		return f.Checked, ""
	case "choice":
		for i := range f.Choices {
			f.Choices[i].Selected = f.Choices[i].Value == typed
			if f.Choices[i].Selected {
				value = rawJSON([]byte(typed))
			}
		}
		if value == nil {
			return nil, "not one of the choices"
		}
		return value, ""
	case "text":
		return typed, ""
	}
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return nil, ""
	}
	parsed, err := jsontree.Parse(typed)
	if err != nil {
		return nil, "not JSON: " + err.Error()
	}
	if _, number := parsed.(json.Number); f.Kind == "number" && !number {
		return nil, "not a number"
	}
	return rawJSON(jsontree.Text(parsed)), ""
}
