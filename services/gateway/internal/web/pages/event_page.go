package pages

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// eventView is the data of an event's page.
type eventView struct {
	Name      string
	ID        markup.Markup
	Pairs     []pair
	Resources []resourceRow
	Payload   markup.Markup
	Automate  string
	Trace     string
	Download  string
	Similar   string
}

// resourceRow is the subject of an event, or a related resource.
type resourceRow struct {
	Role     string
	Resource markup.Markup
	Labels   []header
	Events   string
}

func eventPage() page.Page {
	return page.Page{
		Pattern: "/events/event/{occurred}/{id}",
		Section: "/events",
		Needs:   []string{orchv1.EventService_ReadEvents_FullMethodName},
		Show:    showEvent,
	}
}

func payloadPage() page.Page {
	return page.Page{
		Pattern: "/events/event/{occurred}/{id}/payload",
		Section: "/events",
		Needs:   []string{orchv1.EventService_ReadEvents_FullMethodName},
		Serve: func(w http.ResponseWriter, r *page.Request) error {
			e, err := readEvent(r)
			if err != nil {
				return err
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Disposition", `attachment; filename="event-`+e.GetId()+`.json"`)
			w.Header().Set("Cache-Control", "no-store")
			_, _ = w.Write(e.GetPayload()) // An error means that the client has disconnected.
			return nil
		},
	}
}

// readEvent reads the event that the path names. Its day is that of the SDK's links; a full time is accepted too.
func readEvent(r *page.Request) (*orchv1.ReceivedEvent, error) {
	text := r.Vars["occurred"]
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		day, err = time.Parse(time.RFC3339Nano, text)
	}
	if err != nil || day.Year() < 1970 {
		return nil, &param.Invalid{Name: "occurred", Value: show.Line(text, 60), Expected: "a day such as 2030-01-31"}
	}
	found := eventsByID(day, r.Vars["id"])
	if err := r.Call(found); err != nil {
		return nil, err
	}
	if len(found.Result().GetEvents()) == 0 {
		return nil, &page.NotFound{What: "event"}
	}
	return found.Result().GetEvents()[0], nil
}

func showEvent(r *page.Request) (page.View, error) {
	e, err := readEvent(r)
	if err != nil {
		return page.View{}, err
	}
	vocab := r.Server.Vocabulary
	subject := e.GetResource().GetLabels()[vocab.ResourceID()]
	v := eventView{
		Name: show.Line(e.GetEvent(), 100), ID: show.ID(e.GetId()), Payload: show.JSON(e.GetPayload()),
		Trace: r.To("trace", "event", e.GetId()), Download: eventLink(r, e) + "/payload",
		Similar: r.To("events") + "?" + queryOf("event", e.GetEvent()),
	}
	if r.May(orchv1.AutomationService_CreateAutomation_FullMethodName) {
		v.Automate = automateLink(r, []string{e.GetEvent()}, []string{subject})
	}
	follows := cell{}
	if e.Follows != nil {
		follows = link(r.To("trace", "event", e.GetFollows()), e.GetFollows())
	}
	v.Pairs = pairs(
		pair{"Occurred", timeCell(r, e.GetOccurred())},
		pair{"Received", timeCell(r, e.GetReceived())},
		pair{"Follows", follows},
	)
	v.Resources = append(v.Resources, newResourceRow(r, "subject", e.GetResource().GetLabels()))
	for _, related := range e.GetRelated() {
		v.Resources = append(v.Resources, newResourceRow(r, related.GetLabels()[vocab.ResourceRole()], related.GetLabels()))
	}
	return page.View{Title: v.Name, Template: "event.html", Data: v}, nil
}

func newResourceRow(r *page.Request, role string, labels map[string]string) resourceRow {
	row := resourceRow{
		Role: show.Line(role, 40), Resource: resourceMarkup(r, labels),
		Events: r.To("events") + "?" + queryOf("resource", labels[r.Server.Vocabulary.ResourceID()]),
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		row.Labels = append(row.Labels, header{show.Line(name, 100), show.Line(strings.ReplaceAll(labels[name], "\n", " "), 300)})
	}
	return row
}
