package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// benchView is the data of the bench: a filter and a template beside the last real deliveries.
type benchView struct {
	Name, Back, Path string
	Template, Filter string
	Saved            bool // Whether filter and template are the stored ones.
	Strict           bool // Whether a missing value is an error.
	// Rows is the height of the editor, and Numbers the numbers of its lines.
	Rows       int
	Numbers    string
	Delivery   string
	Deliveries []choice
	Request    string
	Outcome    markup.Markup
	Received   markup.Markup
	Headers    []header
	Body       markup.Markup
	Preview    preview
	Check      *templateCheck
	Problems   []string
	LeftOut    string
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
}

// benchDeliveries is the number of deliveries beside the template.
const benchDeliveries = 50

func benchPage() page.Page {
	previewCalls := []string{orchv1.WebhookService_RenderDelivery_FullMethodName}
	return page.Page{
		Pattern: "/webhooks/webhook/{id}/bench",
		Section: "/webhooks",
		Needs: []string{
			orchv1.WebhookService_ReadWebhook_FullMethodName, orchv1.WebhookService_ReadDeliveries_FullMethodName,
			orchv1.WebhookService_RenderDelivery_FullMethodName,
		},
		Show: func(r *page.Request) (page.View, error) { return showBench(r, nil, false) },
		Actions: []page.Action{
			{Name: "bench-preview", Calls: previewCalls, Do: func(r *page.Request) (page.View, error) { return postedBench(r, false) }},
			{Name: "bench-check", Calls: previewCalls, Do: func(r *page.Request) (page.View, error) { return postedBench(r, true) }},
			{
				Name: "bench-save", Calls: []string{orchv1.WebhookService_UpdateWebhook_FullMethodName},
				Done: "Filter and template are saved. Failed deliveries can be replayed with them.",
				Do:   saveDraft,
			},
		},
	}
}

func postedBench(r *page.Request, check bool) (page.View, error) {
	posted := postedDraft(r)
	if posted.template == "" {
		return page.View{}, rpc.Detail(http.StatusUnprocessableEntity, "The template is empty.")
	}
	if id := r.Field("delivery"); r.Fragment && !check && id != "" {
		return previewDelivery(r, posted, id)
	}
	return showBench(r, &posted, check)
}

func postedDraft(r *page.Request) draft {
	return draft{template: newlines(r.Form.Get("template")), filter: strings.TrimSpace(newlines(r.Form.Get("filter")))}
}

// previewDelivery tries a draft with one delivery, while the reader types. It reads nothing else.
func previewDelivery(r *page.Request, tried draft, delivery string) (page.View, error) {
	rendering := render(r.Vars["id"], tried, delivery)
	if err := r.Call(rendering); rpc.HTTPError(err).GetStatus() == http.StatusNotFound {
		return page.View{}, &page.NotFound{What: "delivery"}
	}
	return page.View{Title: "Preview", Template: "bench.html", Data: benchView{Preview: newPreview(tried, rendering)}}, nil
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

// showBench shows a draft beside a delivery. Nil means filter and template as they are stored.
func showBench(r *page.Request, tried *draft, check bool) (page.View, error) {
	id := r.Vars["id"]
	wanted := r.UUIDs("delivery")
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	if posted := r.Field("delivery"); posted != "" {
		wanted = []string{posted}
	}
	webhook, list := readWebhook(id), readDeliveries(id, apicall.JSON{"limit": maxRead})
	calls := []apicall.Call{webhook, list}
	var named *apicall.Unary[*orchv1.WebhookDeliveryList]
	if len(wanted) > 0 { // It may be older than the last ones.
		named = readDeliveries(id, apicall.JSON{"limit": 1, "deliveries": apicall.JSON{"id": any_(wanted[:1])}})
		calls = append(calls, named)
	}
	if err := r.Call(calls...); err != nil {
		return page.View{}, err
	}
	w := webhook.Result()
	deliveries, leftOut := renderable(list.Result().GetDeliveries())
	stored := draft{w.GetTemplate(), w.GetFilter()}
	if tried == nil {
		tried = &stored
	}
	v := benchView{
		Name: show.Line(w.GetName(), 80), Back: r.To("webhooks", "webhook", id), Path: r.Path(),
		Template: tried.template, Filter: tried.filter, LeftOut: leftOut, Saved: *tried == stored,
	}
	v.Strict = w.GetUndefined() == orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_STRICT
	v.Rows, v.Numbers = editorLines(v.Template)
	var chosen *orchv1.WebhookDelivery
	if named != nil {
		if one, _ := renderable(named.Result().GetDeliveries()); len(one) > 0 && one[0].GetId() == wanted[0] {
			chosen = one[0]
		} else {
			v.Problems = append(v.Problems, "The delivery does not exist any more, or the log has not all of it.")
		}
	}
	if chosen == nil && len(deliveries) > 0 {
		chosen = deliveries[0]
	}
	v.choose(r, deliveries, chosen)
	if chosen != nil {
		rendering := render(id, *tried, chosen.GetId())
		_ = r.Call(rendering)
		v.Preview = newPreview(*tried, rendering)
	}
	if check {
		v.Check = checkDraft(r, w.GetId(), stored, *tried, deliveries)
	}
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
func renderable(deliveries []*orchv1.WebhookDelivery) (whole []*orchv1.WebhookDelivery, leftOut string) {
	left := 0
	for _, d := range deliveries {
		if deliverylog.NotReplayable(d) != "" || d.GetStatus() == http.StatusRequestEntityTooLarge {
			left++
		} else if len(whole) < benchDeliveries {
			whole = append(whole, d)
		}
	}
	if left > 0 {
		leftOut = show.Plural(int64(left), "delivery is", "deliveries are") + " left out: refused, replays, handshakes, or with a body that the log has cut."
	}
	return whole, leftOut
}

// choose fills in the chosen delivery and its alternatives.
func (v *benchView) choose(r *page.Request, deliveries []*orchv1.WebhookDelivery, chosen *orchv1.WebhookDelivery) {
	if chosen == nil {
		return
	}
	v.Delivery, v.Request, v.Outcome = chosen.GetId(), requestLine(chosen), show.Outcome(chosen)
	v.Received = clockOf(r).Time(chosen.GetReceived())
	v.Headers = visibleHeaders(chosen.GetHeaders())
	if chosen.GetBody() != "" {
		v.Body = show.JSON([]byte(chosen.GetBody()))
	}
	listed := false
	for _, d := range deliveries {
		current := d.GetId() == chosen.GetId()
		listed = listed || current
		v.Deliveries = append(v.Deliveries, choice{Value: d.GetId(), Title: deliveryTitle(r, d), Selected: current})
	}
	if !listed {
		v.Deliveries = append(v.Deliveries, choice{Value: chosen.GetId(), Title: deliveryTitle(r, chosen), Selected: true})
	}
}

// deliveryTitle names a delivery among others: its time, its outcome and its request.
func deliveryTitle(r *page.Request, d *orchv1.WebhookDelivery) string {
	return clockOf(r).Text(d.GetReceived().AsTime()) + " " + show.OutcomeWord(d) + " " + show.Line(requestLine(d), 40)
}

// render is the question what the webhook would make of a delivery's request, with a draft of its filter and its template.
func render(webhook string, tried draft, delivery string) *apicall.Unary[*orchv1.WebhookRendering] {
	return apicall.New[*orchv1.WebhookRendering](orchv1.WebhookService_RenderDelivery_FullMethodName, apicall.Input{
		Path: map[string]string{"id": webhook, "delivery_id": delivery}, Body: apicall.JSON{"template": tried.template, "filter": tried.filter},
	})
}

func newPreview(tried draft, rendering *apicall.Unary[*orchv1.WebhookRendering]) preview {
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
