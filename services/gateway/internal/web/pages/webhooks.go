package pages

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// webhooksView is the data of the list of webhooks.
type webhooksView struct {
	Rows        []webhookRow
	Path, Q     string
	New         string
	Next, First string
	MayManage   bool
	Problems    []string
	Filtered    bool
	// Command creates the first webhook.
	Command string
}

// webhookRow is a webhook with its last deliveries.
type webhookRow struct {
	ID, Name, Link, Description string
	Enabled                     bool
	Ticks                       markup.Markup
	Last                        markup.Markup
	// Failed counts the failures among the last deliveries.
	Failed, Deliveries int
	Cause              string
	Bench              string
	Health             markup.Markup
}

const (
	// webhooksPerPage bounds the webhooks of a page, because each needs a call for its deliveries.
	webhooksPerPage = 25
	// tickDeliveries is the number of deliveries of a strip.
	tickDeliveries = 50
)

func webhooksPage() page.Page {
	return page.Page{
		Pattern: "/webhooks",
		Section: "/webhooks",
		Live:    "deliveries",
		Needs:   []string{orchv1.WebhookService_ReadWebhooks_FullMethodName},
		Uses:    []string{orchv1.WebhookService_ReadDeliveries_FullMethodName},
		Show:    showWebhooks,
		Actions: []page.Action{{
			Name:  "webhook-toggle-in-list",
			Calls: []string{orchv1.WebhookService_UpdateWebhook_FullMethodName},
			Done:  "The webhook is changed.",
			Do: func(r *page.Request) (page.View, error) {
				if err := toggleWebhook(r, r.Field("id")); err != nil {
					return page.View{}, err
				}
				return r.Done(r.Here(), "webhook-toggle-in-list", -1), nil
			},
		}},
	}
}

// toggleWebhook sets whether a webhook accepts requests to the field enabled.
func toggleWebhook(r *page.Request, id string) error {
	enabled, err := strconv.ParseBool(r.Field("enabled"))
	if err != nil || id == "" {
		return rpc.Detail(http.StatusBadRequest, "The form lacks the webhook or its new state.")
	}
	in := apicall.ID(id)
	in.Body = apicall.JSON{"enabled": enabled}
	return r.Call(apicall.New[empty](orchv1.WebhookService_UpdateWebhook_FullMethodName, in))
}

func showWebhooks(r *page.Request) (page.View, error) {
	q, offset := r.Text("q"), r.Int("offset", 0, 1_000_000, 0)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	body := apicall.JSON{"limit": webhooksPerPage + 1, "offset": offset, "sort": "NAME_ASC"}
	if q != "" {
		body["webhooks"] = apicall.JSON{"name": apicall.JSON{"like_": q}}
	}
	found := apicall.New[*orchv1.WebhookList](orchv1.WebhookService_ReadWebhooks_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(found); err != nil {
		return page.View{}, err
	}
	list, more := cut(found.Result().GetWebhooks(), webhooksPerPage)
	v := webhooksView{
		Path: r.Path(), Q: q, Filtered: q != "" || offset > 0, New: r.To("webhooks", "new"),
		MayManage: r.May(orchv1.WebhookService_UpdateWebhook_FullMethodName),
		Command:   webhookCommand(r),
	}
	if more {
		v.Next = r.Here("offset", strconv.Itoa(offset+webhooksPerPage))
	}
	if offset > 0 {
		v.First = r.Here("offset", "")
	}
	v.Rows, v.Problems = webhookRows(r, list)
	return page.View{Title: "Webhooks", Template: "webhooks.html", Data: v}, nil
}

// webhookRows builds the rows of a table, those with failures first.
func webhookRows(r *page.Request, webhooks []*orchv1.Webhook) ([]webhookRow, []string) {
	lists := make([]*apicall.Unary[*orchv1.WebhookDeliveryList], len(webhooks))
	calls := make([]apicall.Call, len(webhooks))
	for i, w := range webhooks {
		in := apicall.ID(w.GetId())
		in.Body = apicall.JSON{"limit": tickDeliveries}
		lists[i] = apicall.New[*orchv1.WebhookDeliveryList](orchv1.WebhookService_ReadDeliveries_FullMethodName, in)
		calls[i] = lists[i]
	}
	_ = r.Call(calls...) // A webhook without its deliveries has no strip.
	rows := make([]webhookRow, len(webhooks))
	for i, w := range webhooks {
		rows[i] = newWebhookRow(r, w, lists[i].Result().GetDeliveries())
	}
	slices.SortStableFunc(rows, func(a, b webhookRow) int { return b.Failed*max(a.Deliveries, 1) - a.Failed*max(b.Deliveries, 1) })
	return rows, unique(problems(calls...))
}

func newWebhookRow(r *page.Request, w *orchv1.Webhook, deliveries []*orchv1.WebhookDelivery) webhookRow {
	row := webhookRow{
		ID: w.GetId(), Name: show.Line(w.GetName(), 60), Link: r.To("webhooks", "webhook", w.GetId()),
		Description: show.Line(w.GetDescription(), 120), Enabled: w.GetEnabled(), Deliveries: len(deliveries),
		Bench: r.To("webhooks", "webhook", w.GetId(), "bench"), Health: webhookHealth(r, w),
	}
	for _, d := range deliveries {
		if d.GetStatus() >= http.StatusBadRequest {
			row.Failed++
			if row.Cause == "" {
				row.Cause = causeText(d)
			}
		}
	}
	if len(deliveries) > 0 {
		row.Last = clockOf(r).Time(deliveries[0].GetReceived())
		row.Ticks = deliveryTicks(r, w.GetId(), deliveries)
	}
	return row
}

// deliveryTicks draws deliveries, given newest first, as a strip.
func deliveryTicks(r *page.Request, webhook string, deliveries []*orchv1.WebhookDelivery) markup.Markup {
	ticks := make([]chart.Tick, len(deliveries))
	failed := 0
	for i, d := range deliveries {
		if d.GetStatus() >= http.StatusBadRequest {
			failed++
		}
		ticks[len(deliveries)-1-i] = chart.Tick{
			Class: show.OutcomeClass(d), Size: 0.6, Link: r.To("webhooks", "webhook", webhook, "deliveries", d.GetId()),
			Title: strconv.FormatInt(d.GetStatus(), 10) + " " + show.OutcomeWord(d) + ", " + clockOf(r).Text(d.GetReceived().AsTime()),
		}
	}
	return chart.Ticks(ticks, strconv.Itoa(failed)+" of the last "+show.Plural(int64(len(deliveries)), "delivery", "deliveries")+" failed")
}
