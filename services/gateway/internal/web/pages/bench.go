package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// benchView is the data of the bench: a filter and a template beside the last real deliveries and the samples.
type benchView struct {
	Name, Back, Path string
	// Replay leads to the replay of the failed deliveries, empty without the permission for it.
	Replay           string
	Template, Filter string
	Saved            bool // Whether filter and template are the stored ones.
	Strict           bool // Whether a missing value is an error.
	// Rows is the height of the editor, and Numbers the numbers of its lines.
	Rows    int
	Numbers string
	// Current is the value of the choice of Samples or Deliveries whose request is shown.
	Current             string
	Samples, Deliveries []choice
	Request             string
	Outcome             markup.Markup
	Received            markup.Markup
	Headers             []header
	Body                markup.Markup
	Preview             preview
	// Example is the last stored event of the first event type of the preview. The fragment for a draft that is typed leaves it out.
	Example      markup.Markup
	ExampleTitle string
	Check        *templateCheck
	Problems     []string
	LeftOut      string
	Forms        []form
	Buttons      []button
}

// draft is what the bench tries: a template, and a filter that may be empty.
type draft struct{ template, filter string }

// preview is what a draft makes of a delivery.
type preview struct {
	Error string
	// Line is that of the error in the template, 0 for none.
	Line        int64
	Source      markup.Markup
	SourceTitle string
	Rendered    markup.Markup
	Event       markup.Markup
	Problem     string
	// Note is why there is no event although nothing failed.
	Note     string
	Response responseView
	// Types are the event types of the events.
	Types []benchType
}

// benchDeliveries is the number of deliveries beside the template.
const benchDeliveries = 50

func benchPage() page.Page {
	previewCalls := []string{orchv1.WebhookService_RenderDelivery_FullMethodName, orchv1.WebhookService_RenderWebhookSample_FullMethodName}
	return page.Page{
		Pattern: "/webhooks/webhook/{id}/bench",
		Section: "/webhooks",
		Needs: []string{
			orchv1.WebhookService_ReadWebhook_FullMethodName, orchv1.WebhookService_ReadDeliveries_FullMethodName,
			orchv1.WebhookService_RenderDelivery_FullMethodName,
			orchv1.WebhookService_ListWebhookSamples_FullMethodName, orchv1.WebhookService_RenderWebhookSample_FullMethodName,
		},
		Uses: []string{readEventTypes, orchv1.EventService_ReadEvents_FullMethodName},
		Show: showStored,
		Actions: append([]page.Action{
			{Name: "bench-preview", Calls: previewCalls, Do: func(r *page.Request) (page.View, error) { return postedBench(r, false) }},
			{Name: "bench-check", Calls: previewCalls, Do: func(r *page.Request) (page.View, error) { return postedBench(r, true) }},
			{
				Name: "bench-save", Calls: []string{orchv1.WebhookService_UpdateWebhook_FullMethodName},
				Done: "Filter and template are saved. Failed deliveries can be replayed with them.",
				Do:   saveDraft,
			},
		}, sampleActions()...),
	}
}

// showStored shows filter and template as they are stored.
func showStored(r *page.Request) (page.View, error) { return showBench(r, nil, false) }

func postedBench(r *page.Request, check bool) (page.View, error) {
	posted := postedDraft(r)
	if posted.template == "" {
		return page.View{}, rpc.Detail(http.StatusUnprocessableEntity, "The template is empty.")
	}
	if chosen := postedRequest(r); r.Fragment && !check && chosen.id != "" {
		return previewRequest(r, posted, chosen)
	}
	return showBench(r, &posted, check)
}

func postedDraft(r *page.Request) draft {
	return draft{template: newlines(r.Form.Get("template")), filter: strings.TrimSpace(newlines(r.Form.Get("filter")))}
}

// previewRequest tries a draft with one request, while the reader types. It reads nothing else but the event types of the events.
func previewRequest(r *page.Request, tried draft, chosen requestKey) (page.View, error) {
	rendering := render(r.Vars["id"], tried, chosen)
	if err := r.Call(rendering); rpc.HTTPError(err).GetStatus() == http.StatusNotFound {
		return page.View{}, &page.NotFound{What: chosen.kind}
	}
	return page.View{Title: "Preview", Template: "bench.html", Data: benchView{Preview: newPreview(r, tried, rendering)}}, nil
}

// readDeliveries is the question for deliveries of a webhook.
func readDeliveries(webhook string, body apicall.JSON) *apicall.Unary[*orchv1.WebhookDeliveryList] {
	in := apicall.ID(webhook)
	in.Body = body
	return apicall.New[*orchv1.WebhookDeliveryList](orchv1.WebhookService_ReadDeliveries_FullMethodName, in)
}

func saveDraft(r *page.Request) (page.View, error) {
	in, posted := apicall.ID(r.Vars["id"]), postedDraft(r)
	body := apicall.JSON{"template": posted.template, "filter": nil}
	if posted.filter != "" {
		body["filter"] = posted.filter
	}
	in.Body = body
	err := r.Call(apicall.New[empty](orchv1.WebhookService_UpdateWebhook_FullMethodName, in))
	if err == nil {
		return r.Done(r.To("webhooks", "webhook", r.Vars["id"]), "bench-save", -1), nil
	}
	if rpc.HTTPError(err).GetStatus() != http.StatusUnprocessableEntity || posted.template == "" {
		return page.View{}, err
	}
	view, again := showBench(r, &posted, false)
	if again != nil {
		return page.View{}, err
	}
	view.Status = http.StatusUnprocessableEntity
	texts, _ := formProblems(err)
	for _, text := range texts {
		view.Notices = append(view.Notices, page.Notice{Kind: "bad", Text: text})
	}
	return view, nil
}

// showBench shows a draft beside a request. Nil means filter and template as they are stored.
func showBench(r *page.Request, tried *draft, check bool) (page.View, error) {
	id := r.Vars["id"]
	wanted := wantedRequest(r)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	webhook, list, kept := readWebhook(id), readDeliveries(id, apicall.JSON{"limit": maxRead}), readSamples(id)
	calls := []apicall.Call{webhook, list, kept}
	var named *apicall.Unary[*orchv1.WebhookDeliveryList]
	if wanted.kind == kindDelivery { // It may be older than the last ones.
		named = readDeliveries(id, apicall.JSON{"limit": 1, "deliveries": apicall.JSON{"id": any_([]string{wanted.id})}})
		calls = append(calls, named)
	}
	if err := r.Call(calls...); err != nil {
		return page.View{}, err
	}
	w := webhook.Result()
	deliveries, leftOut := renderable(list.Result().GetDeliveries())
	samples := sampleRequests(kept.Result().GetSamples())
	stored := draft{w.GetTemplate(), w.GetFilter()}
	if tried == nil {
		tried = &stored
	}
	v := benchView{
		Name: show.Line(w.GetName(), 80), Back: r.To("webhooks", "webhook", id), Path: r.Path(),
		Template: tried.template, Filter: tried.filter, LeftOut: leftOut, Saved: *tried == stored,
	}
	if r.May(replayCalls...) {
		v.Replay = r.To("webhooks", "webhook", id, "replay") + "?from=" + deliveriesFrom + "&replayed=no&status=failed"
	}
	v.Strict = w.GetUndefined() == orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_STRICT
	v.Rows, v.Numbers = editorLines(v.Template)
	latest := slices.Concat(deliveries, samples)
	among := latest
	if named != nil {
		older, _ := renderable(named.Result().GetDeliveries())
		among = slices.Concat(older, latest)
	}
	var chosen *benchRequest
	if at := slices.IndexFunc(among, func(one benchRequest) bool { return one.key() == wanted }); at >= 0 {
		chosen = &among[at]
	} else if wanted.id != "" {
		v.Problems = append(v.Problems, "The "+wanted.kind+" does not exist any more, or the log has not all of it.")
	}
	if chosen == nil && len(latest) > 0 {
		chosen = &latest[0]
	}
	v.choose(r, samples, deliveries, chosen)
	if chosen != nil {
		rendering := render(id, *tried, chosen.key())
		_ = r.Call(rendering)
		v.Preview = newPreview(r, *tried, rendering)
	}
	if check {
		v.Check = checkDraft(r, w.GetId(), stored, *tried, slices.Concat(samples, deliveries))
	}
	v.example(r)
	v.Forms, v.Buttons = sampleForms(r, chosen)
	return page.View{Title: "Bench of " + v.Name, Template: "bench.html", Data: v}, nil
}

// The least and the greatest height of the editor, in lines. Up to the greatest, no line is out of view.
const leastRows, mostRows = 14, 60

// maxNumbers bounds the numbers beside the editor.
const maxNumbers = 1_000

// editorLines returns the height of the editor for a template, and the numbers of its lines.
func editorLines(template string) (rows int, numbers string) {
	lines := strings.Count(template, "\n") + 1
	var b strings.Builder
	for i := range min(lines, maxNumbers) {
		fmt.Fprintln(&b, i+1)
	}
	return min(max(lines+1, leastRows), mostRows), b.String()
}

// renderable selects the deliveries whose request the log has whole, and words what it leaves out.
func renderable(deliveries []*orchv1.WebhookDelivery) (whole []benchRequest, leftOut string) {
	left := 0
	for _, d := range deliveries {
		if deliverylog.NotReplayable(d) != "" || d.GetStatus() == http.StatusRequestEntityTooLarge {
			left++
		} else if len(whole) < benchDeliveries {
			whole = append(whole, benchRequest{WebhookDelivery: d})
		}
	}
	if left > 0 {
		leftOut = show.Plural(int64(left), "delivery is", "deliveries are") + " left out: refused, replays, handshakes, or with a body that the log has cut."
	}
	return whole, leftOut
}

// choose fills in the chosen request and its alternatives.
func (v *benchView) choose(r *page.Request, samples, deliveries []benchRequest, chosen *benchRequest) {
	if chosen == nil {
		return
	}
	v.Current, v.Request, v.Received = chosen.key().String(), requestLine(chosen.WebhookDelivery), clockOf(r).Time(chosen.GetReceived())
	v.Headers = visibleHeaders(chosen.GetHeaders())
	if chosen.sample == "" {
		v.Outcome = show.Outcome(chosen.WebhookDelivery)
	}
	if chosen.GetBody() != "" {
		v.Body = show.JSON([]byte(chosen.GetBody()))
	}
	listed := false
	choices := func(all []benchRequest) (list []choice) {
		for _, one := range all {
			current := one.key() == chosen.key()
			listed = listed || current
			list = append(list, choice{Value: one.key().String(), Title: one.title(r), Selected: current})
		}
		return list
	}
	v.Samples, v.Deliveries = choices(samples), choices(deliveries)
	if !listed {
		v.Deliveries = append(v.Deliveries, choice{Value: v.Current, Title: chosen.title(r), Selected: true})
	}
}

// render is the question what the webhook would make of a request, with a draft of its filter and its template.
func render(webhook string, tried draft, chosen requestKey) *apicall.Unary[*orchv1.WebhookRendering] {
	method, variable := orchv1.WebhookService_RenderDelivery_FullMethodName, "delivery_id"
	if chosen.kind == kindSample {
		method, variable = orchv1.WebhookService_RenderWebhookSample_FullMethodName, "sample_id"
	}
	return apicall.New[*orchv1.WebhookRendering](method, apicall.Input{
		Path: map[string]string{"id": webhook, variable: chosen.id}, Body: apicall.JSON{"template": tried.template, "filter": tried.filter},
	})
}

func newPreview(r *page.Request, tried draft, rendering *apicall.Unary[*orchv1.WebhookRendering]) preview {
	if rendering.Err() != nil {
		return preview{Problem: cmp.Or(page.Problem(rendering.Err()), "The template was not rendered.")}
	}
	a := rendering.Result()
	p := preview{Response: newResponseView(a.GetResponse())}
	rendered := a.GetRendered()
	if e := a.GetError(); e != nil {
		mark := show.Mark{Line: e.GetLine(), Column: e.GetColumn(), Message: e.GetMessage()}
		p.Error = placedMessage(e)
		switch e.GetStage() {
		case orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_REQUEST: // The template is not rendered.
		case orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_FILTER:
			p.SourceTitle, p.Source = "Filter", show.CodeExcerpt(tried.filter, mark)
			if a.GetFiltered() {
				p.Problem = "The failing filter drops the request: it gets 204 and causes no event."
			}
		case orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_EVENT:
			p.SourceTitle, p.Source = "Rendered text", show.CodeExcerpt(rendered, mark)
		default:
			p.SourceTitle, p.Source, p.Line = "Template", show.CodeExcerpt(tried.template, mark), e.GetLine()
		}
		return p
	}
	if a.GetFiltered() {
		p.Note = "The filter, or an empty list, drops the request: it gets 204 and causes no event."
		return p
	}
	if a.Handshake != nil {
		p.Problem = "The request is a handshake (" + show.Line(a.GetHandshake(), 40) + "): the webhook answers it, and it causes no event."
		return p
	}
	p.Rendered, p.Event = show.Preformatted(rendered), show.JSON(eventsOf(a))
	p.Types = benchTypes(r, a)
	return p
}

// placedMessage returns the text of an error after its position.
func placedMessage(e *orchv1.WebhookRenderingError) string {
	if e.Line == nil {
		return show.Visible(e.GetMessage())
	}
	return errorPlace(&orchv1.WebhookDelivery{ErrorLine: e.Line, ErrorColumn: e.Column}) + ": " + show.Visible(e.GetMessage())
}

// eventsOf returns the event of a rendering, or the list of several.
func eventsOf(a *orchv1.WebhookRendering) []byte {
	if a.Events != nil {
		return a.GetEvents()
	}
	return a.GetEvent()
}
