package pages

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// bulkAllView is the progress of a change of all runs that match a filter.
type bulkAllView struct {
	Title, Button, Action, Here, Back string
	Changed, Done                     int
	Total                             string
	Finished                          bool
	Problem                           string
	Fields                            []hiddenField
}

// bulkChange changes runs that match a filter.
type bulkChange struct {
	action, title, done string
	rpc                 string
	// states are those of the runs that it can change; none means all.
	states []string
	do     func(r *page.Request, ids []string) (int, error)
}

var (
	unfinishedStates = []string{"SCHEDULED", "PENDING", "RUNNING", "PAUSED"}
	finishedStates   = []string{"COMPLETED", "FAILED", "CANCELLED", "CRASHED"}
)

func bulkChanges() []bulkChange {
	set, remove := orchv1.FlowRunService_BulkSetFlowRunState_FullMethodName, orchv1.FlowRunService_BulkDeleteFlowRuns_FullMethodName
	return []bulkChange{
		{"cancel-all-runs", "Cancel", "are being cancelled", set, unfinishedStates, func(r *page.Request, ids []string) (int, error) {
			return bulkSetState(r, ids, cancelling(), unfinishedStates...)
		}},
		{"retry-all-runs", "Retry", "are scheduled again", set, finishedStates, func(r *page.Request, ids []string) (int, error) {
			return bulkSetState(r, ids, awaitingRetry(r), finishedStates...)
		}},
		{"delete-all-runs", "Delete", "are deleted", remove, nil, bulkDelete},
	}
}

// bulkAllActions change all runs that match the filter of the address, after a confirmation with their number. A form changes
// 200 of them; a script submits one form after the other.
func bulkAllActions() []page.Action {
	var all []page.Action
	for _, c := range bulkChanges() {
		all = append(all, page.Action{Name: c.action, Calls: []string{c.rpc}, Do: func(r *page.Request) (page.View, error) { return c.run(r) }})
	}
	return all
}

// progress is the position of a change within the matching runs: the runs that start before a time, except those of exactly this
// time that were read already.
type progress struct {
	before        time.Time
	read          []string
	changed, done int
}

func readProgress(r *page.Request, f runFilter) (progress, error) {
	p := progress{before: f.Window.To, changed: number(r.Form.Get("changed")), done: number(r.Form.Get("done"))}
	if text := r.Form.Get("before"); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return p, rpc.Detail(http.StatusUnprocessableEntity, "The form has no valid position.")
		}
		p.before = at
	}
	for _, text := range r.Form["read"] {
		if id, err := uuid.Parse(text); err == nil {
			p.read = append(p.read, id.String())
		}
	}
	return p, nil
}

// selection returns the filter of the runs that the change applies to; false if there are none.
func (c bulkChange) selection(f runFilter) (runFilter, bool) {
	if len(c.states) == 0 {
		return f, true
	}
	if len(f.States) == 0 && !f.Late {
		f.States = c.states
		return f, true
	}
	f.States = slices.DeleteFunc(slices.Clone(f.States), func(s string) bool { return !slices.Contains(c.states, s) })
	f.Late = f.Late && slices.Contains(c.states, "SCHEDULED")
	return f, len(f.States) > 0 || f.Late
}

func (c bulkChange) run(r *page.Request) (page.View, error) {
	f, err := readRunFilter(r)
	if err != nil {
		return page.View{}, err
	}
	f, some := c.selection(f)
	// The window is fixed, so that runs that are created during the change do not join it.
	here := r.Here("from", stamp(f.Window.From), "to", stamp(f.Window.To))
	if !confirmed(r) {
		return c.confirm(r, f, some, here)
	}
	p, err := readProgress(r, f)
	if err != nil {
		return page.View{}, err
	}
	v := bulkAllView{
		Title: c.title + " the matching runs", Action: c.action, Button: "Continue", Here: here, Total: r.Form.Get("total"), Back: r.Here(),
	}
	ids, last, more, err := p.next(r, f)
	if err != nil {
		return page.View{}, err
	}
	changed, err := c.do(r, ids)
	if err != nil {
		v.Problem = page.Problem(err)
		if v.Problem == "" {
			return page.View{}, err
		}
	} else {
		p = last
		p.changed += changed
		p.done += len(ids)
	}
	v.Changed, v.Done, v.Finished = p.changed, p.done, err == nil && !more
	v.Fields = []hiddenField{
		{"confirm", "yes"}, {"total", v.Total}, {"changed", strconv.Itoa(p.changed)}, {"done", strconv.Itoa(p.done)}, {"before", stamp(p.before)},
	}
	for _, id := range p.read {
		v.Fields = append(v.Fields, hiddenField{"read", id})
	}
	return page.View{Title: v.Title, Template: "bulk.html", Data: v}, nil
}

// next reads the runs that follow the position, and the position behind them.
func (p progress) next(r *page.Request, f runFilter) (ids []string, last progress, more bool, err error) {
	last = p
	for offset := 0; ; offset += param.MaxRows {
		body := f.body(p.before)
		body["sort"], body["limit"], body["offset"] = "EXPECTED_START_TIME_DESC", param.MaxRows, offset
		runs := apicall.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, apicall.Input{Body: body})
		if err := r.Call(runs); err != nil {
			return nil, p, false, err
		}
		read := runs.Result().GetFlowRuns()
		for _, run := range read {
			if slices.Contains(p.read, run.GetId()) {
				continue
			}
			ids = append(ids, run.GetId())
			if at := run.GetExpectedStartTime().AsTime(); !at.Equal(last.before) {
				last.before, last.read = at, nil
			}
			last.read = append(slices.Clip(last.read), run.GetId())
		}
		more = len(read) == param.MaxRows
		if len(ids) > 0 || !more {
			return ids, last, more, nil
		}
	}
}

// confirm asks for a confirmation that names the number of runs.
func (c bulkChange) confirm(r *page.Request, f runFilter, some bool, here string) (page.View, error) {
	var count int64
	if some {
		answer := apicall.New[*orchv1.CountResponse](orchv1.FlowRunService_CountFlowRuns_FullMethodName, apicall.Input{Body: f.body(f.Window.To)})
		if err := r.Call(answer); err != nil {
			return page.View{}, err
		}
		count = answer.Result().GetCount()
	}
	if count == 0 {
		view, err := showRuns(r)
		view.Notices = append(view.Notices, page.Notice{Kind: "info", Text: "No run of this window and filter can be changed like this."})
		return view, err
	}
	view := confirm(r, confirmView{
		Title: c.title + " " + show.Plural(count, "run", "runs") + "?", Button: c.title + " " + show.Count(count), Action: c.action,
		Text:   "These are all runs that match the filter from " + clockOf(r).Text(f.Window.From) + " to " + clockOf(r).Text(f.Window.To) + ", not only those of the page.",
		Fields: []hiddenField{{"total", show.Count(count)}},
	})
	data := view.Data.(confirmView)
	data.Path = here
	view.Data = data
	return view, nil
}
