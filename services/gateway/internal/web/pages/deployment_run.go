package pages

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

func rawJSON(raw []byte) json.RawMessage { return json.RawMessage(raw) }

// runForm is the data of the form that runs a deployment.
type runForm struct {
	schemaForm
	Title, Path, Back string
	Name, Tags        string
	Start             string
}

func deploymentRunPage() page.Page {
	return page.Page{
		Pattern: "/deployments/deployment/{id}/run",
		Section: "/deployments",
		Needs: []string{
			orchv1.DeploymentService_ReadDeployment_FullMethodName, orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName,
		},
		Uses: []string{orchv1.FlowRunService_ReadFlowRun_FullMethodName, orchv1.UiSchemaService_ValidateObj_FullMethodName},
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
				run := apicall.New[*orchv1.FlowRun](orchv1.FlowRunService_ReadFlowRun_FullMethodName, apicall.ID(like[0]))
				if err := r.Call(run); err != nil {
					return page.View{}, err
				}
				if parameters, err := jsontree.ParseObject(run.Result().GetParameters()); err == nil {
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
	d := apicall.New[*orchv1.Deployment](orchv1.DeploymentService_ReadDeployment_FullMethodName, apicall.ID(r.Vars["id"]))
	err := r.Call(d)
	return d.Result(), err
}

func (f runForm) view() page.View {
	return page.View{Status: f.status(), Title: f.Title, Template: "run_form.html", Data: f}
}

// newRunForm builds the inputs from the parameter schema and fills them with values.
func newRunForm(r *page.Request, d *orchv1.Deployment, values *jsontree.Object) runForm {
	return runForm{
		schemaForm: newSchemaForm(r, d.GetParameterOpenapiSchema(), values),
		Title:      "Run " + show.Line(d.GetName(), 80), Path: r.Here("like", ""), Back: r.To("deployments", "deployment", d.GetId()),
	}
}

// runDeployment creates the run. Values that do not parse, and those that the server refuses, come back in the form.
func runDeployment(r *page.Request) (page.View, error) {
	d, err := readDeployment(r)
	if err != nil {
		return page.View{}, err
	}
	form := newRunForm(r, d, jsontree.NewObject())
	form.Name, form.Tags, form.Start = r.Field("name"), r.Field("tags"), r.Field("start")
	parameters, ok := form.read(r)
	if ok && !form.UsesJSON {
		form.validate(r, d.GetParameterOpenapiSchema(), parameters)
	}
	body := apicall.JSON{"parameters": rawJSON(jsontree.Text(parameters))}
	if form.Name != "" {
		body["name"] = form.Name
	}
	if tags := strings.FieldsFunc(form.Tags, func(c rune) bool { return c == ',' || c == ' ' }); len(tags) > 0 {
		body["tags"] = tags
	}
	if form.Start != "" {
		at, err := time.ParseInLocation(formTime, form.Start, r.Zone)
		if err != nil {
			form.Errors = append(form.Errors, "Start: not a time such as 2030-01-31T12:00")
		}
		body["state"] = apicall.JSON{"type": "SCHEDULED", "state_details": apicall.JSON{"scheduled_time": at}}
	}
	if form.failed() {
		return form.view(), nil
	}
	run := apicall.New[*orchv1.FlowRun](orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName, apicall.Input{
		Path: map[string]string{"id": r.Vars["id"]}, Body: body,
	})
	if err := r.Call(run); err != nil {
		if status := rpc.HTTPError(err).GetStatus(); status != http.StatusUnprocessableEntity && status != http.StatusConflict || errors.Is(err, apicall.ErrNotAllowed) {
			return page.View{}, err
		}
		form.Errors = append(form.Errors, page.Problem(err))
		return form.view(), nil
	}
	return r.Done(r.To("runs", "flow-run", run.Result().GetId()), "run-deployment", -1), nil
}
