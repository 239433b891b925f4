package pages

import (
	"cmp"
	"net/http"
	"strconv"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// outcome is the progress of a replay, and what its last batch became.
type outcome struct {
	rows            []deliveryRow
	good, bad, done int
	total           int  // Deliveries of the replay, as far as they are counted.
	counted         bool // The total is complete.
	after           cursor
	problem         string
	batched         bool // A batch was replayed.
}

// readOutcome reads the progress that the form carries.
func readOutcome(r *page.Request) outcome {
	return outcome{
		good: number(r.Form.Get("good")), bad: number(r.Form.Get("bad")), done: number(r.Form.Get("done")),
		total: number(r.Form.Get("total")), counted: r.Form.Get("counted") != "", batched: true,
	}
}

// view shows the progress before a number of further deliveries.
func (o outcome) view(r *page.Request, webhook *orchv1.Webhook, further int) replayView {
	o.total = max(o.total, o.done+further)
	v := replayView{
		Name: show.Line(webhook.GetName(), 80), Path: r.Path(), Back: r.To("webhooks", "webhook", r.Vars["id"]), HasResults: o.batched,
		Results: o.rows, Good: o.good, Bad: o.bad, Done: o.done, Total: o.total, Problem: o.problem, Next: min(further, replayBatch),
		Finished: o.batched && further == 0 && o.problem == "", Count: show.Plural(int64(o.total-o.done), "delivery", "deliveries"),
	}
	v.Button = "Replay " + show.Plural(int64(v.Next), "delivery", "deliveries")
	if o.done > 0 {
		v.Button = "Replay the next " + strconv.Itoa(v.Next)
	}
	v.Fields = []hiddenField{
		{"done", strconv.Itoa(o.done)}, {"good", strconv.Itoa(o.good)}, {"bad", strconv.Itoa(o.bad)}, {"total", strconv.Itoa(o.total)},
	}
	v.TotalText = show.Count(int64(o.total))
	if o.counted {
		v.Fields = append(v.Fields, hiddenField{"counted", "yes"})
	} else {
		v.TotalText += "+"
		v.Count = show.Count(int64(o.total-o.done)) + "+ deliveries"
	}
	return v
}

// replay replays a batch. After a failure of the server the position stays; the log has what was replayed until then.
func (o *outcome) replay(r *page.Request, batch []*orchv1.WebhookDelivery) {
	ids := make([]string, len(batch))
	before := map[string]*orchv1.WebhookDelivery{}
	for i, d := range batch {
		ids[i], before[d.GetId()] = d.GetId(), d
	}
	in := apicall.ID(r.Vars["id"])
	in.Body = apicall.JSON{"deliveries": apicall.JSON{"id": any_(ids)}, "limit": replayBatch}
	replayed := apicall.New[*orchv1.WebhookDeliveryList](orchv1.WebhookService_ReplayDeliveries_FullMethodName, in)
	if err := r.Call(replayed); err != nil {
		o.problem = cmp.Or(page.Problem(err), "The server did not replay the deliveries.")
		return
	}
	for _, d := range replayed.Result().GetDeliveries() {
		row := newDeliveryRow(r, d)
		if was := before[d.GetReplayOf()]; was != nil {
			row.Before, row.BeforeText = show.Outcome(was), outcomeText(was)
		}
		if d.GetStatus() < http.StatusBadRequest {
			o.good++
		} else {
			o.bad++
		}
		o.rows = append(o.rows, row)
	}
}

// number reads a counter of the form; anything else is zero.
func number(text string) int {
	n, err := strconv.ParseUint(text, 10, 20)
	if err != nil {
		return 0
	}
	return int(n)
}
