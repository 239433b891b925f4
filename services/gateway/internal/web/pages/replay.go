package pages

import (
	"cmp"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/ask"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// replayCalls are the rpcs of a replay.
var replayCalls = []string{orchv1.WebhookService_ReplayDeliveries_FullMethodName}

const (
	// replayBatch is the number of deliveries that one form replays.
	replayBatch = 25
	// maxCounted bounds the deliveries that the page counts; see ORCH_DELIVERIES_KEPT.
	maxCounted = 1_000
)

// replayView is the data of the page that replays a range of deliveries.
type replayView struct {
	Name, Path, Here, Back string
	Statuses, Reasons      []choice
	Replays, Windows       []choice
	// Total counts the matching deliveries, Done those behind the position.
	Total, Skipped, Done  int
	Count                 string
	Good, Bad             int
	Rows                  []deliveryRow // The next ones, oldest first.
	Results               []deliveryRow
	Fields                []hiddenField
	Next                  int
	Button                string
	Problem               string
	MayReplay, HasResults bool
	Finished              bool
	Resume                string
}

func replayPage() page.Page {
	return page.Page{
		Pattern: "/webhooks/webhook/{id}/replay",
		Section: "/webhooks",
		Needs:   webhookCalls,
		Show: func(r *page.Request) (page.View, error) {
			return showReplay(r, nil)
		},
		Actions: []page.Action{
			{Name: "replay-range", Calls: replayCalls, Do: replayRange},
			{Name: "replay-selection", Calls: replayCalls, Do: replaySelection},
		},
	}
}

// cursor is the last delivery that a replay of a range has passed: its time of arrival and its id.
type cursor struct {
	at time.Time
	id string
}

// passed reports whether a delivery is at or before the cursor.
func (c cursor) passed(d *orchv1.WebhookDelivery) bool {
	at := d.GetReceived().AsTime()
	return at.Before(c.at) || at.Equal(c.at) && d.GetId() <= c.id
}

func cursorAt(d *orchv1.WebhookDelivery) cursor { return cursor{d.GetReceived().AsTime(), d.GetId()} }

// readCursor reads the field or parameter after: a time and an id.
func readCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	const length = 36
	if len(text) > length+1 {
		at, err := time.Parse(time.RFC3339Nano, text[:len(text)-length-1])
		id, errID := uuid.Parse(text[len(text)-length:])
		if err == nil && errID == nil {
			return cursor{at.UTC(), id.String()}, nil
		}
	}
	return cursor{}, &param.Invalid{Name: "after", Value: show.Line(text, 60), Expected: "a position that a link of this page gave"}
}

func (c cursor) String() string { return stamp(c.at) + "_" + c.id }

// matching reads the replayable deliveries of a range, oldest first, and counts those that cannot be replayed.
func matching(r *page.Request, f deliveryFilter) (found []*orchv1.WebhookDelivery, skipped int, more bool, err error) {
	for offset := 0; offset < maxCounted; offset += maxRead {
		in := ask.ID(r.Vars["id"])
		in.Body = ask.JSON{
			"deliveries": f.criteria(f.Window.From, f.Window.To), "limit": maxRead, "offset": offset, "sort": "RECEIVED_ASC",
		}
		list := ask.New[*orchv1.WebhookDeliveryList](orchv1.WebhookService_ReadDeliveries_FullMethodName, in)
		if err := r.Ask(list); err != nil {
			return nil, 0, false, err
		}
		read := list.Answer().GetDeliveries()
		for _, d := range read {
			switch {
			case !f.matches(d) || d.ReplayOf != nil:
			case deliverylog.NotReplayable(d) != "":
				skipped++
			default:
				found = append(found, d)
			}
		}
		if len(read) < maxRead {
			return found, skipped, false, nil
		}
	}
	return found, skipped, true, nil
}

// readReplayFilter is readDeliveryFilter with failures that were not replayed as default. The end of the window is fixed,
// so that deliveries that arrive during the replay do not join it.
func readReplayFilter(r *page.Request) deliveryFilter {
	f := readDeliveryFilter(r, deliveriesFrom)
	query := r.HTTP.URL.Query()
	if query.Get("status") == "" {
		f.Status = "failed"
	}
	if query.Get("replayed") == "" {
		f.Replayed = "no"
	}
	return f
}

// showReplay shows a range with its counts and the next deliveries. A non-nil outcome is what the last batch became.
func showReplay(r *page.Request, o *outcome) (page.View, error) {
	f := readReplayFilter(r)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	after, err := readCursor(cmp.Or(r.Form.Get("after"), r.HTTP.URL.Query().Get("after")))
	if err != nil {
		return page.View{}, err
	}
	webhook := readWebhook(r.Vars["id"])
	if err := r.Ask(webhook); err != nil {
		return page.View{}, err
	}
	v := replayView{
		Name: show.Line(webhook.Answer().GetName(), 80), Path: r.Path(), Back: r.To("webhooks", "webhook", r.Vars["id"]),
		Statuses: f.statusChoices(), Reasons: f.reasonChoices(), Replays: f.replayedChoices(), Windows: windows(f.Window.Text),
		MayReplay: r.May(replayCalls...),
	}
	if o != nil {
		after = o.after
		v.HasResults, v.Results, v.Good, v.Bad, v.Problem = true, o.rows, o.good, o.bad, o.problem
	}
	found, skipped, more, err := matching(r, f)
	if err != nil {
		return page.View{}, err
	}
	v.Skipped = skipped
	var next []*orchv1.WebhookDelivery
	for _, d := range found {
		if after.passed(d) {
			continue
		}
		next = append(next, d)
		if len(v.Rows) < replayBatch {
			v.Rows = append(v.Rows, newDeliveryRow(r, d))
		}
	}
	if o != nil {
		v.Done = o.done
	} else {
		v.Done = number(r.HTTP.URL.Query().Get("done"))
	}
	v.Total, v.Next = v.Done+len(next), min(len(next), replayBatch)
	v.Count = show.Plural(int64(len(next)), "delivery", "deliveries")
	if more {
		v.Count = show.Count(int64(len(next))) + "+ deliveries"
	}
	v.Finished = o != nil && len(next) == 0 && o.problem == ""
	v.Button = "Replay " + show.Plural(int64(v.Next), "delivery", "deliveries")
	if v.Done > 0 {
		v.Button = "Replay the next " + strconv.Itoa(v.Next)
	}
	query := f.query()
	query.Set("status", f.Status)
	query.Set("replayed", f.Replayed)
	query.Set("from", stamp(f.Window.From))
	query.Set("to", stamp(f.Window.To)) // Deliveries that arrive during the replay do not join it.
	v.Here = r.Path() + "?" + query.Encode()
	if after.id != "" {
		resume := maps.Clone(query)
		resume.Set("after", after.String())
		resume.Set("done", strconv.Itoa(v.Done))
		v.Resume = r.Path() + "?" + resume.Encode()
		v.Fields = append(v.Fields, hiddenField{"after", after.String()})
	}
	v.Fields = append(v.Fields, hiddenField{"done", strconv.Itoa(v.Done)}, hiddenField{"good", strconv.Itoa(v.Good)}, hiddenField{"bad", strconv.Itoa(v.Bad)})
	return page.View{Title: "Replay of " + v.Name, Template: "replay.html", Data: v}, nil
}

// number reads a counter of the form; anything else is zero.
func number(text string) int {
	n, err := strconv.ParseUint(text, 10, 20)
	if err != nil {
		return 0
	}
	return int(n)
}

// outcome is what a batch of deliveries became.
type outcome struct {
	rows            []deliveryRow
	good, bad, done int
	after           cursor
	problem         string
}

// replayRange replays the next deliveries of the range behind the position of the form.
func replayRange(r *page.Request) (page.View, error) {
	f := readReplayFilter(r)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	after, err := readCursor(r.Form.Get("after"))
	if err != nil {
		return page.View{}, err
	}
	found, _, _, err := matching(r, f)
	if err != nil {
		return page.View{}, err
	}
	var batch []*orchv1.WebhookDelivery
	for _, d := range found {
		if !after.passed(d) && len(batch) < replayBatch {
			batch = append(batch, d)
		}
	}
	o := &outcome{good: number(r.Form.Get("good")), bad: number(r.Form.Get("bad")), done: number(r.Form.Get("done")), after: after}
	if len(batch) > 0 {
		o.replay(r, batch)
		if o.problem == "" {
			o.after, o.done = cursorAt(batch[len(batch)-1]), o.done+len(batch)
		}
	}
	return showReplay(r, o)
}

// replay replays a batch. After a failure of the server the position stays; the log has what was replayed until then.
func (o *outcome) replay(r *page.Request, batch []*orchv1.WebhookDelivery) {
	ids := make([]string, len(batch))
	before := map[string]*orchv1.WebhookDelivery{}
	for i, d := range batch {
		ids[i], before[d.GetId()] = d.GetId(), d
	}
	in := ask.ID(r.Vars["id"])
	in.Body = ask.JSON{"deliveries": ask.JSON{"id": any_(ids)}, "limit": replayBatch}
	replayed := ask.New[*orchv1.WebhookDeliveryList](orchv1.WebhookService_ReplayDeliveries_FullMethodName, in)
	if err := r.Ask(replayed); err != nil {
		o.problem = cmp.Or(page.Problem(err), "The server did not replay the deliveries.")
		return
	}
	for _, d := range replayed.Answer().GetDeliveries() {
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
	in := ask.ID(r.Vars["id"])
	in.Body = ask.JSON{"deliveries": ask.JSON{"id": any_(batch)}, "limit": replayBatch}
	list := ask.New[*orchv1.WebhookDeliveryList](orchv1.WebhookService_ReadDeliveries_FullMethodName, in)
	if err := r.Ask(webhook, list); err != nil {
		return page.View{}, err
	}
	o := &outcome{good: number(r.Form.Get("good")), bad: number(r.Form.Get("bad")), done: number(r.Form.Get("done")) + len(batch)}
	if o.replay(r, list.Answer().GetDeliveries()); o.problem != "" {
		rest, o.done = ids, o.done-len(batch)
	}
	v := replayView{
		Name: show.Line(webhook.Answer().GetName(), 80), Path: r.Path(), Here: r.Path(), Back: r.To("webhooks", "webhook", r.Vars["id"]),
		MayReplay: true, HasResults: true, Results: o.rows, Good: o.good, Bad: o.bad, Problem: o.problem,
		Done: o.done, Total: o.done + len(rest), Next: min(len(rest), replayBatch), Finished: len(rest) == 0,
		Button: "Replay the next " + strconv.Itoa(min(len(rest), replayBatch)), Count: show.Plural(int64(len(rest)), "delivery", "deliveries"),
		Fields: []hiddenField{{"confirm", "yes"}, {"selection", "yes"}, {"done", strconv.Itoa(o.done)}, {"good", strconv.Itoa(o.good)}, {"bad", strconv.Itoa(o.bad)}},
	}
	for _, id := range rest {
		v.Fields = append(v.Fields, hiddenField{"id", id})
	}
	return page.View{Title: "Replay of " + v.Name, Template: "replay_selection.html", Data: v}, nil
}
