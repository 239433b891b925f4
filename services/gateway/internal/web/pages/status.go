package pages

import (
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// statusView is the data of the status page. Totals of failed calls are absent.
type statusView struct {
	Ready       bool
	Operator    bool // The reader administers the server. Others see neither addresses nor parts.
	Reason      string
	DeadLetters string // The link to the page of dead letters.
	// Failing are the parts that do not work; Working are the names of the others.
	Failing                []run.Item
	WorkingTitle           string
	Working                []string
	Tiles                  []tile
	APIVersion, Vocabulary string
	Server                 page.Server
}

// statusPage shows the server's health and addresses.
func statusPage(server Server) page.Page {
	return page.Page{
		Pattern: "/status",
		Section: "/status",
		Uses: []string{
			orchv1.FlowService_CountFlows_FullMethodName,
			orchv1.WebhookService_CountWebhooks_FullMethodName,
			orchv1.EventService_ReadEvents_FullMethodName,
		},
		Show: func(r *page.Request) (page.View, error) {
			flows := apicall.New[*orchv1.CountResponse](orchv1.FlowService_CountFlows_FullMethodName, apicall.Input{Body: apicall.JSON{"limit": mostCounted + 1}})
			webhooks := apicall.New[*orchv1.CountResponse](orchv1.WebhookService_CountWebhooks_FullMethodName, apicall.Input{Body: apicall.JSON{"limit": mostCounted + 1}})
			events := apicall.New[*orchv1.EventPage](orchv1.EventService_ReadEvents_FullMethodName, apicall.Input{Body: apicall.JSON{"limit": 1, "total_limit": mostCounted + 1}})
			_ = r.Call(flows, webhooks, events) // The health of the parts explains a failure.
			v := statusView{
				Ready: true, Operator: r.Allowed(readDeadLetters), DeadLetters: r.To("dead-letters"), Server: r.Server,
				APIVersion: vocabulary.APIVersion, Vocabulary: r.Server.Vocabulary.String(),
				Tiles: []tile{
					{"Flows", total(flows.Err(), flows.Result().GetCount()), r.To("flows"), "pending"},
					{"Webhooks", total(webhooks.Err(), webhooks.Result().GetCount()), r.To("webhooks"), "pending"},
					{"Events, 180 days", total(events.Err(), events.Result().GetTotal()), r.To("events"), "pending"},
				},
			}
			title := "Ready"
			err := server.Ready()
			if err != nil {
				v.Ready, title = false, "Not ready"
			}
			if v.Operator {
				for _, part := range server.Parts() {
					if part.OK {
						v.Working = append(v.Working, part.Name)
					} else {
						v.Failing = append(v.Failing, part)
					}
				}
				v.WorkingTitle = show.Plural(int64(len(v.Working)), "part works", "parts work")
				if err != nil {
					v.Reason = err.Error()
				}
			}
			return page.View{Title: title, Template: "status.html", Data: v}, nil
		},
	}
}

// mostCounted is the greatest total that pages show; beyond it they show "10,000+". A database without counters walks an index to
// count, so the limit bounds the cost of a page.
const mostCounted = 10_000

// total formats a count up to mostCounted, or a dash when the call failed.
func total(err error, n int64) string {
	if err != nil {
		return "–"
	}
	return show.CountUpTo(n, mostCounted)
}
