package pages

import (
	"net/url"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// eventsView is the data of the feed of events.
type eventsView struct {
	Histogram     markup.Markup
	Rows          []eventRow
	Total         string
	Names         []tile
	Older, Newest string
	// EventFields and ResourceFields are the values of the filter, one at least.
	EventFields, ResourceFields []string

	Q, Path  string
	Windows  []choice
	Hidden   []hiddenField
	Filtered bool
	Automate string
	// Types is the address of the event types, empty for readers who may not see them.
	Types    string
	Problems []string
}

// eventRow is an event in the feed.
type eventRow struct {
	ID, Name, Link, Trace string
	Occurred              markup.Markup
	Resource              markup.Markup
	Related               []markup.Markup
	More                  string
}

// moreToken is the parameter with the API's token of a further page of events.
const moreToken = "page"

func eventsPage() page.Page {
	return page.Page{
		Pattern: "/events",
		Section: "/events",
		Live:    "events",
		Needs:   []string{orchv1.EventService_ReadEvents_FullMethodName},
		Uses:    []string{orchv1.EventService_CountEvents_FullMethodName, orchv1.EventService_ReadEventsPage_FullMethodName},
		Show:    showEvents,
	}
}

func showEvents(r *page.Request) (page.View, error) {
	f := readEventFilter(r)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	token := r.HTTP.URL.Query().Get(moreToken)
	list := apicall.New[*orchv1.EventPage](orchv1.EventService_ReadEvents_FullMethodName, apicall.Input{
		Body: apicall.JSON{"filter": f.criteria(), "limit": f.Rows, "total_limit": mostCounted + 1},
	})
	if token != "" {
		list = apicall.New[*orchv1.EventPage](orchv1.EventService_ReadEventsPage_FullMethodName, apicall.Input{Query: url.Values{"page-token": {token}}})
	}
	unit, length := f.interval()
	charted := f
	charted.Window = chartWindow(f.Window)
	byTime := countEvents("time", apicall.JSON{"filter": charted.criteria(), "time_unit": unit, "time_interval": length})
	byName := countEvents("event", apicall.JSON{"filter": charted.criteria()})
	_ = r.Call(list, byTime, byName)
	if err := list.Err(); err != nil {
		return page.View{}, badPage(token, err)
	}
	v := eventsView{
		Total: eventTotal(list.Result().GetTotal()), EventFields: fieldsFor(f.Names), ResourceFields: fieldsFor(f.Resources),
		Q: f.Q, Path: r.Path(), Windows: windows(f.Window.Text), Filtered: f.any(), Problems: problems(byTime, byName),
		Hidden: hiddenFields(r, "to", "at", "n", "tz"),
	}
	if f.any() && r.May(orchv1.AutomationService_CreateAutomation_FullMethodName) {
		v.Automate = automateLink(r, f.Names, f.Resources)
	}
	if r.May(readEventTypes) {
		v.Types = r.To("events", "types")
	}
	for _, e := range list.Result().GetEvents() {
		v.Rows = append(v.Rows, newEventRow(r, e))
	}
	if next, err := url.Parse(list.Result().GetNextPage()); err == nil && list.Result().NextPage != nil {
		v.Older = r.Here(moreToken, next.Query().Get("page-token"))
	}
	if token != "" {
		v.Newest = r.Here(moreToken, "")
	}
	if byTime.Err() == nil {
		v.Histogram = eventHistogram(r, byTime.Result().GetCounts())
	}
	v.Names = nameTiles(r, byName.Result().GetCounts())
	return page.View{Title: "Events", Template: "events.html", Data: v}, nil
}

// eventTotal words the number of matching events.
func eventTotal(n int64) string {
	if n > mostCounted {
		return show.CountUpTo(n, mostCounted) + " events"
	}
	return show.Plural(n, "event", "events")
}

func countEvents(by string, body apicall.JSON) *apicall.Unary[*orchv1.EventCountList] {
	return apicall.NewShared[*orchv1.EventCountList](orchv1.EventService_CountEvents_FullMethodName, apicall.Input{Path: map[string]string{"countable": by}, Body: body})
}

// eventHistogram draws counts by time. A bar leads to its events.
func eventHistogram(r *page.Request, counts []*orchv1.EventCount) markup.Markup {
	h := chart.Histogram{Clock: clockOf(r), Caption: "Events by time"}
	for _, c := range counts {
		bar := chart.Bar{From: c.GetStartTime().AsTime(), To: c.GetEndTime().AsTime()}
		bar.Parts = []chart.Part{{Class: "all", Name: "events", N: c.GetCount()}}
		bar.Link = r.Here("from", stamp(bar.From), "to", stamp(bar.To), moreToken, "")
		h.Bars = append(h.Bars, bar)
	}
	return h.Markup()
}

// nameTiles are the most frequent names of the window.
func nameTiles(r *page.Request, counts []*orchv1.EventCount) []tile {
	const most = 12
	var tiles []tile
	for _, c := range counts[:min(len(counts), most)] {
		tiles = append(tiles, tile{
			Label: show.Line(c.GetLabel(), 60), Value: show.Count(c.GetCount()), Link: r.Here("event", c.GetValue(), moreToken, ""),
		})
	}
	return tiles
}

// newEventRow builds a row of the feed.
func newEventRow(r *page.Request, e *orchv1.ReceivedEvent) eventRow {
	row := eventRow{
		ID: e.GetId(), Name: show.Line(e.GetEvent(), 80), Link: eventLink(r, e), Trace: r.To("trace", "event", e.GetId()),
		Occurred: clockOf(r).Time(e.GetOccurred()), Resource: resourceMarkup(r, e.GetResource().GetLabels()),
	}
	const most = 3
	for i, related := range e.GetRelated() {
		if i == most {
			row.More = "and " + show.Count(int64(len(e.GetRelated())-most)) + " more"
			break
		}
		row.Related = append(row.Related, resourceMarkup(r, related.GetLabels()))
	}
	return row
}

// automateLink leads to the form of a new automation for events.
func automateLink(r *page.Request, names, resources []string) string {
	query := url.Values{}
	if len(names) > 0 {
		query["event"] = names
	}
	if len(resources) > 0 {
		query["resource"] = resources
	}
	return r.To("automations", "new") + "?" + query.Encode()
}
