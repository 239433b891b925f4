package web

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/flosch/pongo2/v6"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// lastEvents is the number of events on the page.
	lastEvents = 20
	// askTimeout bounds the calls to the services.
	askTimeout = 2 * time.Second
)

// eventRow is an event as the page shows it.
type eventRow struct {
	Occurred, Exact, Name, Resource, ResourceName string
}

// summary is the data of the page. Data of failed calls is absent.
type summary struct {
	Events        []eventRow
	EventsUnknown bool
	Flows         string
	Webhooks      string
	EventTotal    string
}

// status renders the server's health, addresses and latest events.
func (s *Site) status(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "status.html", pongo2.Context{
		"page":          "status",
		"version":       s.opts.Version,
		"api_version":   vocabulary.APIVersion,
		"vocabulary":    s.opts.Vocabulary.String(),
		"authenticated": s.opts.Authenticated,
		"at":            s.opts.Addresses(r),
		"ready":         s.opts.Ready() == nil,
		"parts":         s.opts.Parts(),
		"summary":       s.ask(r.Context()),
	})
}

// ask makes all calls of the page concurrently.
func (s *Site) ask(ctx context.Context) summary {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	const unknown = "–"
	out := summary{Flows: unknown, Webhooks: unknown, EventTotal: unknown, EventsUnknown: true}
	var group sync.WaitGroup
	group.Go(func() {
		if n, ok := call[*orchv1.CountResponse](ctx, s, orchv1.FlowService_CountFlows_FullMethodName, &orchv1.CountFlowsRequest{Query: &orchv1.FlowCountQuery{}}); ok {
			out.Flows = strconv.FormatInt(n.GetCount(), 10)
		}
	})
	group.Go(func() {
		if n, ok := call[*orchv1.CountResponse](ctx, s, orchv1.WebhookService_CountWebhooks_FullMethodName, &orchv1.CountWebhooksRequest{Query: &orchv1.WebhookCountQuery{}}); ok {
			out.Webhooks = strconv.FormatInt(n.GetCount(), 10)
		}
	})
	group.Go(func() {
		page, ok := call[*orchv1.EventPage](ctx, s, orchv1.EventService_ReadEvents_FullMethodName, &orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{Limit: lastEvents}})
		if !ok {
			return
		}
		out.EventsUnknown = false
		out.EventTotal = strconv.FormatInt(page.GetTotal(), 10)
		for _, e := range page.GetEvents() {
			out.Events = append(out.Events, s.row(e))
		}
	})
	group.Wait()
	return out
}

// call makes one call. The health of the parts explains a failure, so the page does not.
func call[M proto.Message](ctx context.Context, s *Site, method string, question proto.Message) (M, bool) {
	response, _, err := s.opts.Caller.Call(ctx, method, question)
	if err != nil {
		s.opts.Log.DebugContext(ctx, "call a service for the status page", "method", method, "error", err)
		var none M
		return none, false
	}
	answer, ok := response.(M)
	return answer, ok
}

func (s *Site) row(e *orchv1.ReceivedEvent) eventRow {
	labels := e.GetResource().GetLabels()
	occurred := e.GetOccurred().AsTime().UTC()
	return eventRow{
		Occurred:     occurred.Format(time.DateTime),
		Exact:        occurred.Format(time.RFC3339Nano),
		Name:         e.GetEvent(),
		Resource:     labels[s.opts.Vocabulary.ResourceID()],
		ResourceName: labels[s.opts.Vocabulary.ResourceName()],
	}
}
