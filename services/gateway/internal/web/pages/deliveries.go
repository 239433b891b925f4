package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// empty is the answer of calls that return nothing.
type empty = *emptypb.Empty

// deliveryFilter is the selection of deliveries in an address.
type deliveryFilter struct {
	Window param.Window
	// Status is "all", "failed", "ok" or a number.
	Status  string
	Reasons []string
	// Replayed is "any", "no" or "yes".
	Replayed string
	// Text is what the request or its outcome contains; empty selects by the other criteria alone.
	Text  string
	Rows  int
	Older param.Position
}

// deliveryReasons are the classes of refusals and failures; see WebhookDelivery.reason.
var deliveryReasons = deliverylog.Reasons()

// deliveryStatuses are the values of the parameter status.
var deliveryStatuses = []string{"all", "failed", "ok", "200", "204", "400", "401", "403", "405", "413", "415", "429", "503"}

// maxRead is the largest page of deliveries that the API returns.
const maxRead = 200

func readDeliveryFilter(r *page.Request, from string) deliveryFilter {
	return deliveryFilter{
		Window:   r.WindowFrom(from),
		Status:   r.Word("status", deliveryStatuses...),
		Reasons:  r.Words("reason", deliveryReasons...),
		Replayed: r.Word("replayed", "any", "no", "yes"),
		Text:     r.Text("text"),
		Rows:     r.Rows(),
		Older:    r.Older(),
	}
}

// any reports whether the filter leaves out deliveries of its window.
func (f deliveryFilter) any() bool {
	return f.Status != "all" || len(f.Reasons) > 0 || f.Replayed != "any" || f.Text != ""
}

// criteria is the filter as the API has it, with an earliest and a latest time of arrival.
func (f deliveryFilter) criteria(after, before time.Time) apicall.JSON {
	criteria := apicall.JSON{"received": apicall.JSON{"after_": after, "before_": before}}
	switch f.Status {
	case "all":
	case "failed":
		criteria["status"] = apicall.JSON{"ge_": http.StatusBadRequest}
	case "ok":
		criteria["status"] = apicall.JSON{"le_": http.StatusBadRequest - 1}
	default:
		criteria["status"] = apicall.JSON{"ge_": f.number(), "le_": f.number()}
	}
	if len(f.Reasons) > 0 {
		criteria["reason"] = any_(f.Reasons)
	}
	if f.Replayed != "any" {
		criteria["replayed_event_id"] = apicall.JSON{"is_null_": f.Replayed == "no"}
	}
	return criteria
}

func (f deliveryFilter) number() int {
	n := 0
	_, _ = fmt.Sscanf(f.Status, "%d", &n) // Status is one of deliveryStatuses.
	return n
}

// list searches the page's rows, newest first, and one row more, behind the rows at the position's time that earlier pages have.
func (f deliveryFilter) list(webhook string) *apicall.Unary[*orchv1.WebhookDeliverySearchResult] {
	before := f.Window.To
	if !f.Older.First() && f.Older.Before.Before(before) {
		before = f.Older.Before
	}
	in := apicall.ID(webhook)
	in.Body = f.search(f.criteria(f.Window.From, before), apicall.JSON{"limit": min(f.Older.Skip+f.Rows+1, maxRead)})
	return apicall.New[*orchv1.WebhookDeliverySearchResult](orchv1.WebhookService_SearchDeliveries_FullMethodName, in)
}

// search adds the criteria and the text to the body of a search or deletion.
func (f deliveryFilter) search(criteria, body apicall.JSON) apicall.JSON {
	body["deliveries"] = criteria
	if f.Text != "" {
		body["text"] = f.Text
	}
	return body
}

// page selects the rows from what list returned, and the position of older ones; the zero position means none. The rows may be fewer than
// the page has although older ones match: the search has read its bound.
func (f deliveryFilter) page(found *orchv1.WebhookDeliverySearchResult) (rows []*orchv1.WebhookDelivery, older param.Position) {
	read := found.GetDeliveries()
	rows = read[min(f.Older.Skip, len(read)):]
	further := len(rows) > f.Rows
	rows = rows[:min(f.Rows, len(rows))]
	times := make([]time.Time, len(rows))
	for i, d := range rows {
		times[i] = d.GetReceived().AsTime()
	}
	switch last := found.GetSearchedTo().AsTime(); {
	case further:
		return rows, f.Older.After(times)
	case found.GetSearchedTo() == nil:
		return rows, param.Position{}
	case len(times) > 0 && times[len(times)-1].Equal(last):
		return rows, f.Older.After(times)
	default:
		return rows, param.Position{Before: last}
	}
}

// query is the filter as parameters of an address.
func (f deliveryFilter) query() url.Values {
	query := url.Values{"from": {f.Window.Text}}
	if !f.Window.Open {
		query.Set("to", stamp(f.Window.To))
	}
	if f.Status != "all" {
		query.Set("status", f.Status)
	}
	if f.Replayed != "any" {
		query.Set("replayed", f.Replayed)
	}
	if len(f.Reasons) > 0 {
		query["reason"] = f.Reasons
	}
	if f.Text != "" {
		query.Set("text", f.Text)
	}
	return query
}

func (f deliveryFilter) statusChoices() []choice {
	titles := map[string]string{"all": "all", "failed": "failed, 400 and above", "ok": "accepted"}
	var all []choice
	for _, s := range deliveryStatuses {
		all = append(all, choice{Value: s, Title: cmp.Or(titles[s], s), Selected: s == f.Status})
	}
	return all
}

func (f deliveryFilter) reasonChoices() []choice {
	var all []choice
	for _, s := range deliveryReasons {
		all = append(all, choice{Value: s, Title: s, Selected: slices.Contains(f.Reasons, s)})
	}
	return all
}

func (f deliveryFilter) replayedChoices() []choice {
	var all []choice
	for _, c := range []choice{{Value: "any", Title: "all"}, {Value: "no", Title: "not replayed"}, {Value: "yes", Title: "replayed"}} {
		c.Selected = c.Value == f.Replayed
		all = append(all, c)
	}
	return all
}

// deliveryRow is a delivery in a table.
type deliveryRow struct {
	ID, Link, Request, Text, Count string
	Outcome, Received, Took        markup.Markup
	Size                           string
	// Note says that the delivery is a replay or was replayed.
	Note string
	// Before is the outcome that a replay had before.
	Before     markup.Markup
	BeforeText string
	Bench      string
	Replayable bool
}

func newDeliveryRow(r *page.Request, d *orchv1.WebhookDelivery) deliveryRow {
	row := deliveryRow{
		ID: d.GetId(), Link: r.To("webhooks", "webhook", d.GetWebhookId(), "deliveries", d.GetId()),
		Outcome: show.Outcome(d), Received: clockOf(r).Time(d.GetReceived()), Took: show.Seconds(d.GetLatency()),
		Request: requestLine(d), Size: show.Bytes(d.GetSize()), Text: outcomeText(d), Replayable: deliverylog.NotReplayable(d) == "",
		Bench: r.To("webhooks", "webhook", d.GetWebhookId(), "bench") + "?delivery=" + d.GetId(),
	}
	if d.GetCount() > 1 {
		row.Count = "stands for " + show.Count(d.GetCount()) + " requests"
	}
	switch {
	case d.ReplayOf != nil:
		row.Note = "replay"
	case d.ReplayedEventId != nil:
		row.Note = "replayed"
	}
	return row
}

// requestLine is the request in short: method, path and query.
func requestLine(d *orchv1.WebhookDelivery) string {
	line := d.GetMethod()
	if d.GetPath() != "" {
		line += " " + d.GetPath()
	}
	if d.GetQuery() != "" {
		line += " ?" + d.GetQuery()
	}
	return show.Line(line, 80)
}

// outcomeText words what became of a delivery.
func outcomeText(d *orchv1.WebhookDelivery) string {
	switch {
	case d.Error != nil:
		return causeText(d)
	case d.Event != nil:
		return show.Line(d.GetEvent(), 100)
	case d.Handshake != nil:
		return show.Line(d.GetHandshake(), 60) + " handshake"
	}
	return ""
}

// causeText is the error with its place: "line 4:18: 'ref' is empty".
func causeText(d *orchv1.WebhookDelivery) string {
	return strings.TrimPrefix(errorPlace(d)+": "+show.Line(d.GetError(), 140), ": ")
}

// errorPlace is "line 4:18", empty without a place.
func errorPlace(d *orchv1.WebhookDelivery) string {
	if d.GetErrorLine() == 0 {
		return ""
	}
	if d.GetErrorColumn() == 0 {
		return fmt.Sprintf("line %d", d.GetErrorLine())
	}
	return fmt.Sprintf("line %d:%d", d.GetErrorLine(), d.GetErrorColumn())
}

// cause is a group of failures with the same error at the same place.
type cause struct {
	Outcome         markup.Markup
	Text            string
	Count           string
	First, Last     markup.Markup
	Link, Replay    string
	Bench           string
	Example         string
	requests        int64
	firstAt, lastAt time.Time
}

// maxCauses bounds the groups of a page.
const maxCauses = 8

// causes groups failures that no replay has made good by status, reason, error and place, the largest group first. The deliveries are newest first.
func causes(r *page.Request, webhook string, deliveries []*orchv1.WebhookDelivery) []cause {
	byKey := map[string]*cause{}
	var groups []*cause
	for _, d := range deliveries {
		if !deliverylog.Unresolved(d) {
			continue
		}
		key := fmt.Sprintf("%d %s %s", d.GetStatus(), d.GetReason(), causeText(d))
		g := byKey[key]
		if g == nil {
			query := url.Values{"from": {cmp.Or(r.HTTP.URL.Query().Get("from"), deliveriesFrom)}, "status": {"failed"}}
			if d.GetReason() != "" {
				query.Set("reason", d.GetReason())
			}
			g = &cause{
				Outcome: show.Outcome(d), Text: causeText(d), Example: r.To("webhooks", "webhook", webhook, "deliveries", d.GetId()),
				Link: r.To("webhooks", "webhook", webhook) + "?" + query.Encode(), lastAt: d.GetReceived().AsTime(),
			}
			if deliverylog.NotReplayable(d) == "" {
				g.Bench = r.To("webhooks", "webhook", webhook, "bench") + "?delivery=" + d.GetId()
				query.Set("replayed", "no")
				g.Replay = r.To("webhooks", "webhook", webhook, "replay") + "?" + query.Encode()
			}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.requests += max(d.GetCount(), 1)
		g.firstAt = d.GetReceived().AsTime()
	}
	slices.SortStableFunc(groups, func(a, b *cause) int { return cmp.Compare(b.requests, a.requests) })
	if len(groups) > maxCauses {
		groups = groups[:maxCauses]
	}
	var all []cause
	for _, g := range groups {
		g.Count, g.First, g.Last = show.Count(g.requests), clockOf(r).At(g.firstAt), clockOf(r).At(g.lastAt)
		all = append(all, *g)
	}
	return all
}
