package pages

import (
	"maps"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
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
	// Total counts the matching deliveries, Done those behind the position. TotalText ends in "+" if there may be more.
	Total, Skipped, Done  int
	TotalText             string
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
	// Further reports that the range continues after deliveries of which none matches.
	Further bool
	Resume  string
}

func replayPage() page.Page {
	return page.Page{
		Pattern: "/webhooks/webhook/{id}/replay",
		Section: "/webhooks",
		Needs:   webhookCalls,
		Show:    showReplay,
		Actions: []page.Action{
			{Name: "replay-range", Calls: replayCalls, Do: replayBatchOfRange},
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

// replayRange is the part of a range of deliveries that follows a cursor.
type replayRange struct {
	deliveries []*orchv1.WebhookDelivery // The replayable ones, oldest first.
	skipped    int                       // The deliveries that cannot be replayed.
	more       bool                      // The range continues after read.
	read       cursor
}

// readRange reads the range after a cursor until it has more than a number of replayable deliveries, or has read
// maxCounted deliveries.
func readRange(r *page.Request, f deliveryFilter, after cursor, enough int) (replayRange, error) {
	found := replayRange{read: after}
	from := latest(f.Window.From, after.at)
	for offset := 0; offset < maxCounted; offset += maxRead {
		list := readDeliveries(r.Vars["id"], apicall.JSON{
			"deliveries": f.criteria(from, f.Window.To), "limit": maxRead, "offset": offset, "sort": "RECEIVED_ASC",
		})
		if err := r.Call(list); err != nil {
			return replayRange{}, err
		}
		read := list.Result().GetDeliveries()
		for _, d := range read {
			switch {
			case after.passed(d) || d.ReplayOf != nil:
			case deliverylog.NotReplayable(d) != "":
				found.skipped++
			default:
				found.deliveries = append(found.deliveries, d)
			}
			found.read = cursorAt(d)
		}
		found.more = len(read) == maxRead
		if !found.more || len(found.deliveries) > enough {
			break
		}
	}
	return found, nil
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

// showReplay shows a range with its count and the next deliveries.
func showReplay(r *page.Request) (page.View, error) {
	after, err := readCursor(r.HTTP.URL.Query().Get("after"))
	if err != nil {
		return page.View{}, err
	}
	f := readReplayFilter(r)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	found, err := readRange(r, f, after, maxCounted)
	if err != nil {
		return page.View{}, err
	}
	o := outcome{after: after, done: number(r.HTTP.URL.Query().Get("done"))}
	o.total, o.counted = o.done+len(found.deliveries), !found.more
	return replayPageOf(r, f, o, found)
}

// replayPageOf shows the progress of a replay, what the last batch became, and the next deliveries of the range.
func replayPageOf(r *page.Request, f deliveryFilter, o outcome, next replayRange) (page.View, error) {
	webhook := readWebhook(r.Vars["id"])
	if err := r.Call(webhook); err != nil {
		return page.View{}, err
	}
	v := o.view(r, webhook.Result(), len(next.deliveries))
	v.Statuses, v.Reasons, v.Replays, v.Windows = f.statusChoices(), f.reasonChoices(), f.replayedChoices(), windows(f.Window.Text)
	v.MayReplay, v.Skipped = r.May(replayCalls...), next.skipped
	for _, d := range next.deliveries[:v.Next] {
		v.Rows = append(v.Rows, newDeliveryRow(r, d))
	}
	if v.Next == 0 && next.more { // Nothing matches among the deliveries read, and the range continues.
		o.after, v.Further, v.Finished = next.read, true, false
		v.Button = "Look further"
	}
	query := f.query()
	query.Set("status", f.Status)
	query.Set("replayed", f.Replayed)
	query.Set("from", stamp(f.Window.From))
	query.Set("to", stamp(f.Window.To)) // Deliveries that arrive during the replay do not join it.
	v.Here = r.Path() + "?" + query.Encode()
	if o.after.id != "" {
		resume := maps.Clone(query)
		resume.Set("after", o.after.String())
		resume.Set("done", strconv.Itoa(o.done))
		v.Resume = r.Path() + "?" + resume.Encode()
		v.Fields = append(v.Fields, hiddenField{"after", o.after.String()})
	}
	return page.View{Title: "Replay of " + v.Name, Template: "replay.html", Data: v}, nil
}

// replayBatchOfRange replays the next deliveries of the range after the position of the form.
func replayBatchOfRange(r *page.Request) (page.View, error) {
	f := readReplayFilter(r)
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	after, err := readCursor(r.Form.Get("after"))
	if err != nil {
		return page.View{}, err
	}
	// The second half of what is read are the rows that the page shows next.
	found, err := readRange(r, f, after, 2*replayBatch)
	if err != nil {
		return page.View{}, err
	}
	o := readOutcome(r)
	o.after = after
	n := min(len(found.deliveries), replayBatch)
	if n > 0 {
		batch := found.deliveries[:n]
		if o.replay(r, batch); o.problem == "" {
			o.after, o.done = cursorAt(batch[n-1]), o.done+n
			found.deliveries = found.deliveries[n:]
		}
	}
	return replayPageOf(r, f, o, found)
}
