package pages

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// deliveryView is the data of a delivery's page.
type deliveryView struct {
	Title       string
	Webhook     markup.Markup
	Outcome     markup.Markup
	Received    markup.Markup
	ID          markup.Markup
	Pairs       []pair
	RequestLine string
	Headers     []header
	Response    responseView
	Body        markup.Markup
	BodyText    markup.Markup
	BodyNote    string
	Error       string
	// Source is the text that has the error: the template, or what it rendered.
	Source      markup.Markup
	SourceTitle string
	SourceNote  string
	Rendered    markup.Markup
	Event       markup.Markup
	EventTitle  string
	EventPage   string
	// Further are the other events of a request that became several.
	Further   []cell
	Trace     string
	Bench     string
	MayReplay bool
	MayBench  bool
	WhyNot    string
	Replays   string
	Problems  []string
}

type header struct{ Name, Value string }

func deliveryPage() page.Page {
	return page.Page{
		Pattern: "/webhooks/webhook/{id}/deliveries/{delivery_id}",
		Section: "/webhooks",
		Needs:   []string{orchv1.WebhookService_ReadDelivery_FullMethodName, orchv1.WebhookService_ReadWebhook_FullMethodName},
		Uses:    []string{orchv1.EventService_ReadEvents_FullMethodName},
		Show:    showDelivery,
		Actions: []page.Action{{
			Name: "delivery-replay", Calls: []string{orchv1.WebhookService_ReplayDelivery_FullMethodName},
			Done: "The delivery is replayed. This page shows the new delivery.",
			Do: func(r *page.Request) (page.View, error) {
				replayed := apicall.New[*orchv1.WebhookDelivery](orchv1.WebhookService_ReplayDelivery_FullMethodName, deliveryID(r))
				if err := r.Call(replayed); err != nil {
					return page.View{}, err
				}
				return r.Done(r.To("webhooks", "webhook", r.Vars["id"], "deliveries", replayed.Result().GetId()), "delivery-replay", -1), nil
			},
		}},
	}
}

func deliveryID(r *page.Request) apicall.Input {
	return apicall.Input{Path: map[string]string{"id": r.Vars["id"], "delivery_id": r.Vars["delivery_id"]}}
}

func showDelivery(r *page.Request) (page.View, error) {
	delivery := apicall.New[*orchv1.WebhookDelivery](orchv1.WebhookService_ReadDelivery_FullMethodName, deliveryID(r))
	webhook := readWebhook(r.Vars["id"])
	if err := r.Call(delivery, webhook); err != nil {
		return page.View{}, err
	}
	d, w := delivery.Result(), webhook.Result()
	v := deliveryView{
		Title: "Delivery " + d.GetId()[:min(8, len(d.GetId()))], ID: show.ID(d.GetId()),
		Webhook: show.Link(r.To("webhooks", "webhook", w.GetId()), w.GetName()),
		Outcome: show.Outcome(d), Received: clockOf(r).Time(d.GetReceived()), RequestLine: requestLine(d),
		MayReplay: r.May(orchv1.WebhookService_ReplayDelivery_FullMethodName) && deliverylog.NotReplayable(d) == "", WhyNot: deliverylog.NotReplayable(d),
		MayBench: r.May(orchv1.WebhookService_RenderWebhook_FullMethodName) && !d.GetBodyTruncated() && d.Handshake == nil,
		Bench:    r.To("webhooks", "webhook", w.GetId(), "bench") + "?delivery=" + d.GetId(),
		Trace:    r.To("trace", "delivery", d.GetId()) + "?webhook=" + w.GetId(),
		Pairs:    deliveryPairs(r, w, d),
	}
	v.Headers, v.Response = visibleHeaders(d.GetHeaders()), newResponseView(d.GetResponse())
	v.body(d)
	v.failure(w, d)
	if d.EventId != nil {
		v.event(r, d)
	}
	return page.View{Title: v.Title, Template: "delivery.html", Data: v}, nil
}

// visibleHeaders returns headers by name.
func visibleHeaders(headers map[string]string) []header {
	var all []header
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		all = append(all, header{show.Visible(name), show.Visible(headers[name])})
	}
	return all
}

func deliveryPairs(r *page.Request, w *orchv1.Webhook, d *orchv1.WebhookDelivery) []pair {
	count := ""
	if d.GetCount() > 1 {
		count = show.Count(d.GetCount()) + " requests with this reason: this one, and others without an entry"
	}
	deliveryLink := func(id *string) cell {
		if id == nil {
			return cell{}
		}
		return link(r.To("webhooks", "webhook", w.GetId(), "deliveries", *id), *id)
	}
	duplicate := ""
	if d.GetDuplicate() {
		duplicate = "yes: an earlier delivery published the event"
	}
	return pairs(
		pair{"Received", timeCell(r, d.GetReceived())},
		pair{"Response", text(fmt.Sprintf("%d %s", d.GetStatus(), http.StatusText(int(d.GetStatus()))))},
		pair{"Took", mark(show.Seconds(d.GetLatency()))},
		pair{"Sender", optionalText(d.RemoteAddress)},
		pair{"Body", text(show.Bytes(d.GetSize()))},
		pair{"Signature", text(signatureCheck(w, d))},
		pair{"Duplicate", text(duplicate)},
		pair{"Handshake", optionalText(d.Handshake)},
		pair{"Stands for", text(count)},
		pair{"Replay of", deliveryLink(d.ReplayOf)},
	)
}

// signatureCheck words the check of the signature. The log has only refusals, so success follows from the response.
func signatureCheck(w *orchv1.Webhook, d *orchv1.WebhookDelivery) string {
	switch {
	case d.GetReason() == deliverylog.ReasonSignature:
		return "invalid: " + d.GetError()
	case d.ReplayOf != nil:
		return "not checked again in a replay"
	case w.GetVerification() == nil:
		return "the webhook requires none"
	case !deliverylog.Verified(d):
		return "refused before the check"
	case d.GetReceived().AsTime().Before(w.GetUpdated().AsTime()):
		return "passed what the webhook required then; now it requires " + enumWord(w.GetVerification().GetScheme())
	}
	return "valid, " + enumWord(w.GetVerification().GetScheme())
}

// body shows the request's body as a tree if it is JSON, and as text.
func (v *deliveryView) body(d *orchv1.WebhookDelivery) {
	switch {
	case d.GetBody() == "" && d.GetSize() > 0:
		v.BodyNote = "The log has no bodies of refused requests."
	case d.GetBody() == "":
		v.BodyNote = "The request has no body."
	case d.GetBodyTruncated():
		v.BodyNote = "The log has only the first " + show.Bytes(int64(len(d.GetBody()))) + " of " + show.Bytes(d.GetSize()) + "."
	}
	if d.GetBody() == "" {
		return
	}
	if strings.HasPrefix(strings.TrimLeft(d.GetBody(), " \t\r\n"), "{") || strings.HasPrefix(strings.TrimLeft(d.GetBody(), " \t\r\n"), "[") {
		v.Body = show.JSON([]byte(d.GetBody()))
	}
	v.BodyText = show.Preformatted(d.GetBody())
}

// failure shows the error under its line of the template, or of what the template rendered.
func (v *deliveryView) failure(w *orchv1.Webhook, d *orchv1.WebhookDelivery) {
	if d.Error == nil {
		return
	}
	v.Error = strings.TrimSpace(errorPlace(d) + ": " + show.Visible(d.GetError()))
	v.Error = strings.TrimPrefix(v.Error, ": ")
	mark := show.Mark{Line: d.GetErrorLine(), Column: d.GetErrorColumn(), Message: d.GetError()}
	switch {
	case d.Rendered != nil:
		v.SourceTitle, v.Source = "Rendered text", show.Code(d.GetRendered(), mark)
		if d.GetRenderedTruncated() {
			v.SourceNote = "The log has only the beginning of the text."
		}
	case d.GetReason() == deliverylog.ReasonTemplate, d.GetReason() == deliverylog.ReasonFilter, d.GetReason() == deliverylog.ReasonFiltered:
		v.SourceTitle, v.Source = "Template", show.Code(w.GetTemplate(), mark)
		if d.GetReason() != deliverylog.ReasonTemplate {
			v.SourceTitle, v.Source = "Filter", show.Code(w.GetFilter(), mark)
		}
		if d.GetReceived().AsTime().Before(w.GetUpdated().AsTime()) {
			v.SourceNote = "The webhook has changed since: its text of that time may have been another."
		}
	}
}

func (v *deliveryView) event(r *page.Request, d *orchv1.WebhookDelivery) {
	v.EventTitle = show.Line(d.GetEvent(), 100)
	ids := d.GetEventIds()
	if len(ids) == 0 {
		ids = []string{d.GetEventId()}
	}
	found := eventsByID(d.GetReceived().AsTime(), ids...)
	_ = r.Call(found)
	v.Problems = problems(found)
	events := found.Result().GetEvents()
	slices.SortFunc(events, func(a, b *orchv1.ReceivedEvent) int {
		return slices.Index(ids, a.GetId()) - slices.Index(ids, b.GetId())
	})
	for _, e := range events {
		if e.GetId() == d.GetEventId() {
			v.Event, v.EventPage = eventTree(e), eventLink(r, e)
			continue
		}
		v.Further = append(v.Further, link(eventLink(r, e), e.GetEvent()))
	}
}
