package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// webhookView is the data of a webhook's page.
type webhookView struct {
	Name            string
	Description     string
	Enabled         bool
	ID              markup.Markup
	Ticks           markup.Markup
	Pairs           []pair
	Address         string // Empty until the reader asks for it.
	ShowAddress     string // Empty if the reader's role does not allow it.
	Command         string
	Outcomes        []tile
	Causes          []cause
	Rows            []deliveryRow
	Text            string
	Searched        bool // The search ended at its bound, with fewer rows than the page has.
	DeleteMatching  string
	Older, Newest   string
	Statuses        []choice
	Reasons         []choice
	Replays         []choice
	Windows         []choice
	Hidden          []hiddenField
	Path            string
	Filtered        bool
	Bench, Replay   string
	ReplayAll       string
	Edit            string
	MayManage       bool
	MayReplay       bool
	Template        markup.Markup
	Problems        []string
	ReplaySelection string
	EventsLink      string
}

// deliveriesFrom is the default window of deliveries.
const deliveriesFrom = "-7d"

var webhookCalls = []string{orchv1.WebhookService_ReadWebhook_FullMethodName, orchv1.WebhookService_ReadDeliveries_FullMethodName, orchv1.WebhookService_SearchDeliveries_FullMethodName}

func webhookPage() page.Page {
	return page.Page{
		Pattern: "/webhooks/webhook/{id}",
		Section: "/webhooks",
		Live:    "webhook/{id}",
		Needs:   webhookCalls,
		Uses:    []string{orchv1.WebhookService_SummarizeDeliveries_FullMethodName},
		Show:    showWebhook,
		Actions: []page.Action{
			{
				Name: "webhook-toggle", Calls: []string{orchv1.WebhookService_UpdateWebhook_FullMethodName},
				Done: "The webhook is changed.",
				Do: func(r *page.Request) (page.View, error) {
					if err := toggleWebhook(r, r.Vars["id"]); err != nil {
						return page.View{}, err
					}
					return r.Done(r.Path(), "webhook-toggle", -1), nil
				},
			},
			{
				Name: "webhook-rotate", Calls: []string{orchv1.WebhookService_RotateWebhook_FullMethodName},
				Done: "The webhook has a new address. The old one no longer works.",
				Do:   rotateWebhook,
			},
			{
				Name: "webhook-delete", Calls: []string{orchv1.WebhookService_DeleteWebhook_FullMethodName},
				Done: "The webhook is deleted.",
				Do:   deleteWebhook,
			},
			{Name: "deliveries-delete", Calls: []string{orchv1.WebhookService_DeleteDeliveries_FullMethodName}, Done: "%d deliveries are deleted.", Do: deleteDeliveries},
		},
	}
}

func readWebhook(id string) *apicall.Unary[*orchv1.Webhook] {
	return apicall.New[*orchv1.Webhook](orchv1.WebhookService_ReadWebhook_FullMethodName, apicall.ID(id))
}

func rotateWebhook(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Give this webhook a new address?", Action: "webhook-rotate", Button: "Rotate the address",
			Text: "The old address stops working at once. Its senders get 404 until they post to the new one.", Back: r.Path(),
		}), nil
	}
	rotated := apicall.New[*orchv1.Webhook](orchv1.WebhookService_RotateWebhook_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(rotated); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Path()+"?address=show", "webhook-rotate", -1), nil
}

func deleteWebhook(r *page.Request) (page.View, error) {
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete this webhook?", Action: "webhook-delete", Button: "Delete the webhook",
			Text: "Its address stops working, and its delivery log is deleted. Its events stay.", Back: r.Path(),
		}), nil
	}
	if err := r.Call(apicall.New[empty](orchv1.WebhookService_DeleteWebhook_FullMethodName, apicall.ID(r.Vars["id"]))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("webhooks"), "webhook-delete", -1), nil
}

func showWebhook(r *page.Request) (page.View, error) {
	id := r.Vars["id"]
	f := readDeliveryFilter(r, deliveriesFrom)
	address := r.Word("address", "hide", "show")
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	webhook, list := readWebhook(id), f.list(id)
	latest := readDeliveries(id, apicall.JSON{"limit": maxRead})
	summary := apicall.New[*orchv1.WebhookDeliverySummary](orchv1.WebhookService_SummarizeDeliveries_FullMethodName, apicall.ID(id))
	_ = r.Call(webhook, list, latest, summary)
	if err := webhook.Err(); err != nil {
		return page.View{}, err
	}
	w := webhook.Result()
	v := webhookView{
		Name: show.Line(w.GetName(), 80), Description: show.Visible(w.GetDescription()), Enabled: w.GetEnabled(), ID: show.ID(id), Path: r.Path(),
		Bench: r.To("webhooks", "webhook", id, "bench"), Replay: r.To("webhooks", "webhook", id, "replay"), Edit: r.To("webhooks", "webhook", id, "edit"),
		MayManage: r.May(orchv1.WebhookService_UpdateWebhook_FullMethodName), MayReplay: r.May(replayCalls...),
		Template: show.Code(w.GetTemplate(), show.Mark{}), Pairs: webhookPairs(r, w), Problems: problems(list, summary),
		Statuses: f.statusChoices(), Reasons: f.reasonChoices(), Replays: f.replayedChoices(), Windows: windows(f.Window.Text),
		Filtered: f.any(), Text: f.Text, ShowAddress: r.Here("address", "show"), ReplaySelection: r.To("webhooks", "webhook", id, "replay"),
		EventsLink: r.To("events") + "?resource=" + r.Server.Vocabulary.CloudName("webhook", id),
	}
	v.Hidden = hiddenFields(r, "to", "n", "tz")
	switch {
	case w.GetSlug() == webhookdef.MaskedSlug:
		v.ShowAddress = ""
	case address == "show":
		v.Address = r.Server.Hooks + "/" + w.GetSlug()
		v.Command = "curl -i -d '{\"hello\": \"world\"}' " + v.Address
	}
	v.Outcomes = outcomeTiles(r, id, summary.Result().GetCounts())
	recent := latest.Result().GetDeliveries()
	v.Causes = causes(r, id, recent)
	v.Ticks = deliveryTicks(r, id, recent[:min(len(recent), tickDeliveries)])
	rows, older := f.page(list.Result())
	for _, d := range rows {
		v.Rows = append(v.Rows, newDeliveryRow(r, d))
	}
	if !older.First() {
		v.Older = r.Here("older", older.String())
		v.Searched = len(rows) < f.Rows
	}
	if !f.Older.First() {
		v.Newest = r.Here()
	}
	query := f.query()
	if f.any() && len(v.Rows) > 0 && r.May(orchv1.WebhookService_DeleteDeliveries_FullMethodName) {
		v.DeleteMatching = r.Path() + "?" + query.Encode()
	}
	query.Del("text") // A replay has no search.
	if f.Status == "all" {
		query.Set("status", "failed")
	}
	v.ReplayAll = v.Replay + "?" + query.Encode()
	return page.View{Title: v.Name, Template: "webhook.html", Data: v}, nil
}

// hiddenFields carries parameters of the address through a filter form.
func hiddenFields(r *page.Request, names ...string) []hiddenField {
	var fields []hiddenField
	for _, name := range names {
		for _, value := range r.HTTP.URL.Query()[name] {
			fields = append(fields, hiddenField{name, value})
		}
	}
	return fields
}

// outcomeTiles counts the requests of the log by outcome.
func outcomeTiles(r *page.Request, webhook string, counts []*orchv1.WebhookDeliveryCount) []tile {
	var tiles []tile
	for _, c := range counts {
		class, label := "completed", "accepted"
		link := r.To("webhooks", "webhook", webhook) + fmt.Sprintf("?from=-30d&status=%d", c.GetStatus())
		if c.GetStatus() >= http.StatusBadRequest {
			class, label = "failed", ""
		}
		if c.GetReason() != "" {
			label = c.GetReason()
			link += "&reason=" + label
		}
		if label == deliverylog.ReasonFiltered {
			class = "cancelled"
		}
		if !isKnownStatus(c.GetStatus()) {
			link = r.To("webhooks", "webhook", webhook) + "?from=-30d"
		}
		tiles = append(tiles, tile{Label: strings.TrimSpace(fmt.Sprintf("%d %s", c.GetStatus(), label)), Value: show.Count(c.GetCount()), Link: link, Class: class})
	}
	return tiles
}

func isKnownStatus(status int64) bool {
	return slices.Contains(deliveryStatuses, strconv.FormatInt(status, 10))
}

// webhookPairs are the settings of a webhook.
func webhookPairs(r *page.Request, w *orchv1.Webhook) []pair {
	verification := "none: whoever knows the address may post"
	if v := w.GetVerification(); v != nil {
		verification = enumWord(v.GetScheme()) + ", " + show.Plural(v.GetSecretCount(), "valid secret", "valid secrets")
		if v.GetSecretCount() > 1 {
			verification += ": remove the old one once its sender has changed"
		}
	}
	var handshakes []string
	for _, h := range w.GetHandshakes() {
		handshakes = append(handshakes, enumWord(h))
	}
	var methods []string
	for _, m := range w.GetMethods() {
		methods = append(methods, enumWord(m))
	}
	key := ""
	if w.ServiceAccountId != nil {
		key = "of service account " + w.GetServiceAccountId()
	}
	silence := ""
	if w.MaxSilence != nil {
		silence = "after " + show.Duration(time.Duration(w.GetMaxSilence())*time.Second) + " without a request"
	}
	failing := ""
	if w.Filter != nil {
		failing = enumWord(w.GetFilterError())
	}
	return pairs(
		pair{"Health", mark(webhookHealth(r, w))},
		pair{"Signature", text(verification)},
		pair{"Topics", text(strings.Join(w.GetVerification().GetTopicArns(), ", "))},
		pair{"Silent", text(silence)},
		pair{"API key", text(key)},
		pair{"Deduplication", text(enumWord(w.GetDeduplication()))},
		pair{"Filter", text(w.GetFilter())},
		pair{"A failing filter", text(failing)},
		pair{"Response", text(responseSummary(w.GetResponse()))},
		pair{"Missing values", text(enumWord(w.GetUndefined()))},
		pair{"Methods", text(cmp.Or(strings.Join(methods, ", "), "all"))},
		pair{"Handshakes", text(strings.Join(handshakes, ", "))},
		pair{"Rate limit", text(rateText(w.GetRateLimit()))},
		pair{"Addresses", text(strings.Join(w.GetAllowedIps(), ", "))},
		pair{"Created", timeCell(r, w.GetCreated())},
		pair{"Changed", timeCell(r, w.GetUpdated())},
	)
}
