package pages

import (
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// The rpcs that change samples.
const (
	createSample = orchv1.WebhookService_CreateWebhookSample_FullMethodName
	updateSample = orchv1.WebhookService_UpdateWebhookSample_FullMethodName
	deleteSample = orchv1.WebhookService_DeleteWebhookSample_FullMethodName
)

// The kinds of requests on the bench, and the parameters of its address that choose one.
const kindDelivery, kindSample = "delivery", "sample"

// requestKey identifies a request on the bench. The zero value is none.
type requestKey struct{ kind, id string }

// String is the value of the form field "request".
func (k requestKey) String() string { return k.kind + ":" + k.id }

// benchRequest is the request of a delivery or of a sample. A sample has no outcome, and its time is its creation.
type benchRequest struct {
	*orchv1.WebhookDelivery
	// sample is the name of the sample; empty for a delivery.
	sample string
}

func (b benchRequest) key() requestKey {
	if b.sample != "" {
		return requestKey{kindSample, b.GetId()}
	}
	return requestKey{kindDelivery, b.GetId()}
}

// title names a request among others: a sample by its name, a delivery by its time, its outcome and its request.
func (b benchRequest) title(r *page.Request) string {
	if b.sample != "" {
		return show.Line(b.sample, 80)
	}
	return clockOf(r).Text(b.GetReceived().AsTime()) + " " + show.OutcomeWord(b.WebhookDelivery) + " " + show.Line(requestLine(b.WebhookDelivery), 40)
}

// row is what a table of requests shows of one.
func (b benchRequest) row(r *page.Request) deliveryRow {
	if b.sample == "" {
		return newDeliveryRow(r, b.WebhookDelivery)
	}
	return deliveryRow{ID: b.GetId(), Link: r.Path() + "?sample=" + b.GetId(), Received: show.Text(b.title(r)), Request: requestLine(b.WebhookDelivery)}
}

// readSamples is the question for the samples of a webhook.
func readSamples(webhook string) *apicall.Unary[*orchv1.WebhookSampleList] {
	return apicall.New[*orchv1.WebhookSampleList](orchv1.WebhookService_ListWebhookSamples_FullMethodName, apicall.ID(webhook))
}

func sampleRequests(samples []*orchv1.WebhookSample) []benchRequest {
	all := make([]benchRequest, len(samples))
	for i, one := range samples {
		all[i] = benchRequest{sample: one.GetName(), WebhookDelivery: &orchv1.WebhookDelivery{
			Id: one.GetId(), WebhookId: one.GetWebhookId(), Received: one.GetCreated(),
			Method: one.GetMethod(), Path: one.GetPath(), Query: one.GetQuery(), Headers: one.GetHeaders(), Body: one.GetBody(),
		}}
	}
	return all
}

// postedRequest is the request that the posted form shows.
func postedRequest(r *page.Request) requestKey {
	kind, id, ok := strings.Cut(r.Field("request"), ":")
	if !ok || kind != kindDelivery && kind != kindSample {
		return requestKey{}
	}
	return requestKey{kind, id}
}

// wantedRequest is the request that the posted form or the address names.
func wantedRequest(r *page.Request) requestKey {
	posted := postedRequest(r)
	for _, kind := range []string{kindDelivery, kindSample} {
		if ids := r.UUIDs(kind); posted.id == "" && len(ids) > 0 {
			return requestKey{kind, ids[0]}
		}
	}
	return posted
}

func sampleActions() []page.Action {
	return []page.Action{
		{Name: "sample-keep", Calls: []string{createSample}, Done: "The request is kept as a sample.", Do: keepSample},
		{Name: "sample-type", Calls: []string{createSample}, Done: "The request is kept as a sample.", Do: typeSample},
		{Name: "sample-rename", Calls: []string{updateSample}, Done: "The sample is renamed.", Do: renameSample},
		{Name: "sample-delete", Calls: []string{deleteSample}, Done: "The sample is deleted.", Do: removeSample},
	}
}

// sampleForms are the forms and buttons below the bench: for the chosen request, and for a typed one.
func sampleForms(r *page.Request, chosen *benchRequest) (forms []form, buttons []button) {
	name := field{Name: "name", Label: "Name", Required: true, Max: 200}
	var hidden []hiddenField
	if chosen != nil {
		hidden = []hiddenField{{"request", chosen.key().String()}}
	}
	switch {
	case chosen == nil:
	case chosen.sample == "" && r.May(createSample):
		forms = append(forms, form{
			Title: "Keep the delivery as a sample", Action: "sample-keep", Button: "Keep", Fields: []field{name}, Hidden: hidden,
			Text: "The sample remains when the log deletes the delivery. It has masks in place of credentials, as the log has.",
		})
	case chosen.sample != "":
		if r.May(updateSample) {
			current := name
			current.Value = chosen.sample
			forms = append(forms, form{Title: "Rename the sample", Action: "sample-rename", Button: "Rename", Fields: []field{current}, Hidden: hidden})
		}
		if r.May(deleteSample) {
			buttons = append(buttons, button{Action: "sample-delete", Title: "Delete the sample", Class: "danger", Fields: hidden})
		}
	}
	if r.May(createSample) {
		var methods []choice
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			methods = append(methods, choice{Value: method, Title: method})
		}
		forms = append(forms, form{Title: "Type a sample", Action: "sample-type", Button: "Keep", Hidden: hidden, Fields: []field{
			name,
			selectField("method", "Method", http.MethodPost, methods),
			{Name: "path", Label: "Path after the address"},
			{Name: "query", Label: "Query", Hint: "Without the question mark"},
			{Name: "headers", Label: "Headers", Kind: "textarea", Value: "Content-Type: application/json", Hint: "One a line, as Name: value. Credentials are masked."},
			{Name: "body", Label: "Body", Kind: "textarea"},
		}})
	}
	return forms, buttons
}

func keepSample(r *page.Request) (page.View, error) {
	return postSample(r, apicall.JSON{"name": r.Field("name"), "delivery_id": postedRequest(r).id})
}

func typeSample(r *page.Request) (page.View, error) {
	headers := map[string]string{}
	for line := range strings.Lines(newlines(r.Form.Get("headers"))) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return invalidForm(r, showStored, []string{"Headers: a line is like Content-Type: application/json."}, map[string]bool{"headers": true})
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	request := apicall.JSON{"method": r.Field("method"), "path": r.Field("path"), "query": r.Field("query"), "headers": headers, "body": newlines(r.Form.Get("body"))}
	return postSample(r, apicall.JSON{"name": r.Field("name"), "request": request})
}

func postSample(r *page.Request, body apicall.JSON) (page.View, error) {
	in := apicall.ID(r.Vars["id"])
	in.Body = body
	created := apicall.New[*orchv1.WebhookSample](createSample, in)
	if err := r.Call(created); err != nil {
		return refusedForm(r, showStored, err)
	}
	return r.Done(r.Path()+"?sample="+created.Result().GetId(), r.Form.Get("action"), -1), nil
}

// sampleInput addresses the sample that the posted form shows.
func sampleInput(r *page.Request) (apicall.Input, error) {
	posted := postedRequest(r)
	if posted.kind != kindSample {
		return apicall.Input{}, rpc.Detail(http.StatusUnprocessableEntity, "No sample is chosen.")
	}
	return apicall.Input{Path: map[string]string{"id": r.Vars["id"], "sample_id": posted.id}}, nil
}

func renameSample(r *page.Request) (page.View, error) {
	in, err := sampleInput(r)
	if err != nil {
		return page.View{}, err
	}
	in.Body = apicall.JSON{"name": r.Field("name")}
	if err := r.Call(apicall.New[empty](updateSample, in)); err != nil {
		return refusedForm(r, showStored, err)
	}
	return r.Done(r.Path()+"?sample="+in.Path["sample_id"], "sample-rename", -1), nil
}

func removeSample(r *page.Request) (page.View, error) {
	in, err := sampleInput(r)
	if err != nil {
		return page.View{}, err
	}
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the sample?", Action: "sample-delete", Button: "Delete the sample", Text: "Its request is deleted.",
			Fields: []hiddenField{{"request", r.Field("request")}},
		}), nil
	}
	if err := r.Call(apicall.New[empty](deleteSample, in)); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Path(), "sample-delete", -1), nil
}
