package pages

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// replaySelection replays the ticked deliveries, 25 at a time. The rest of a longer selection stays in the form.
func replaySelection(r *page.Request) (page.View, error) {
	var ids []string
	for _, id := range unique(r.Form["id"]) {
		if parsed, err := uuid.Parse(id); err == nil && len(ids) < maxRead {
			ids = append(ids, parsed.String())
		}
	}
	if len(ids) == 0 {
		return page.View{}, rpc.Detail(http.StatusUnprocessableEntity, "No delivery is selected.")
	}
	if !confirmed(r) {
		v := confirmView{
			Title: "Replay " + show.Plural(int64(len(ids)), "delivery", "deliveries") + "?", Action: "replay-selection", Button: "Replay",
			Text: "Each request is rendered with the current template. The first replay of a failed delivery publishes its event; a replay of any other publishes one more event.",
			Back: r.To("webhooks", "webhook", r.Vars["id"]),
		}
		for _, id := range ids {
			v.Fields = append(v.Fields, hiddenField{"id", id})
		}
		return confirm(r, v), nil
	}
	batch, rest := ids[:min(len(ids), replayBatch)], ids[min(len(ids), replayBatch):]
	webhook := readWebhook(r.Vars["id"])
	list := readDeliveries(r.Vars["id"], apicall.JSON{"deliveries": apicall.JSON{"id": any_(batch)}, "limit": replayBatch})
	if err := r.Call(webhook, list); err != nil {
		return page.View{}, err
	}
	o := readOutcome(r)
	o.counted = true
	if o.replay(r, list.Result().GetDeliveries()); o.problem == "" {
		o.done += len(batch)
	} else {
		rest = ids
	}
	v := o.view(r, webhook.Result(), len(rest))
	v.Here, v.MayReplay = r.Path(), true
	v.Fields = append(v.Fields, hiddenField{"confirm", "yes"})
	for _, id := range rest {
		v.Fields = append(v.Fields, hiddenField{"id", id})
	}
	return page.View{Title: "Replay of " + v.Name, Template: "replay_selection.html", Data: v}, nil
}
