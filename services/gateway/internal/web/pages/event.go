package pages

import (
	"net/url"
	"time"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// eventsByID asks for events that occurred around a time. Templates may set another time of occurrence, so the range is wide; the ids select
// by an index.
func eventsByID(around time.Time, ids ...string) *apicall.Unary[*orchv1.EventPage] {
	const wide = 400 * 24 * time.Hour
	since, until := param.Within(around.Add(-wide)), param.Within(around.Add(wide))
	return apicall.New[*orchv1.EventPage](orchv1.EventService_ReadEvents_FullMethodName, apicall.Input{Body: apicall.JSON{
		"filter": apicall.JSON{"id": apicall.JSON{"id": ids}, "occurred": apicall.JSON{"since": since, "until": until}},
		"limit":  len(ids),
	}})
}

// eventTree shows an event as the API returns it.
func eventTree(e *orchv1.ReceivedEvent) markup.Markup {
	raw, err := restjson.Marshal(e)
	if err != nil {
		return show.Preformatted(err.Error())
	}
	return show.JSON(raw)
}

// eventLink is the address of an event's page.
func eventLink(r *page.Request, e *orchv1.ReceivedEvent) string {
	return r.To("events", "event", e.GetOccurred().AsTime().UTC().Format(time.DateOnly), e.GetId())
}

// queryOf is the query of an address with one parameter.
func queryOf(name, value string) string { return url.Values{name: {value}}.Encode() }
