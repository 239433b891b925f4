package pages

import (
	"net/url"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/runlist"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// The numbers of runs on the page of an object: marks of the strip, past runs, and upcoming ones.
const (
	stripRuns    = 50
	pastRows     = 10
	upcomingRows = 3
)

// runLists are the calls for the two lists of runs on the page of an object: the past ones, and the upcoming ones.
type runLists struct {
	past, upcoming *apicall.Unary[*orchv1.FlowRunList]
	// query selects the object's runs in the address of a list of runs.
	query url.Values
}

// newRunLists returns the lists of the runs that belong to an object. The parameter and its value select the same runs in an
// address.
func newRunLists(object apicall.JSON, parameter, value string) runLists {
	return runLists{
		past: readRunList(runlist.Past(), object, stripRuns), upcoming: readRunList(runlist.Upcoming(), object, upcomingRows+1),
		query: url.Values{parameter: {value}},
	}
}

// readRunList asks for the first runs of a list that belong to an object.
func readRunList(l runlist.List, object apicall.JSON, limit int) *apicall.Unary[*orchv1.FlowRunList] {
	body := l.Query(object)
	body["limit"] = limit
	return apicall.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, apicall.Input{Body: body})
}

// strip draws the past runs, the latest at the end.
func (l runLists) strip(r *page.Request) markup.Markup {
	return runStrip(r, l.past.Result().GetFlowRuns(), "")
}

// runStrip draws runs, which are given latest first, and marks the one with the id current.
func runStrip(r *page.Request, runs []*orchv1.FlowRun, current string) markup.Markup {
	var longest float64
	for _, run := range runs {
		longest = max(longest, run.GetEstimatedRunTime())
	}
	var ticks []chart.Tick
	failed := 0
	for _, run := range slices.Backward(runs) {
		class := strings.ToLower(show.StateWord(run.GetStateType()))
		if class == "failed" || class == "crashed" {
			failed++
		}
		ticks = append(ticks, chart.Tick{
			Class: class, Title: show.Visible(run.GetName()) + ": " + run.GetStateName(), Size: run.GetEstimatedRunTime() / max(longest, 1e-9),
			Link: r.To("runs", "flow-run", run.GetId()), Current: run.GetId() == current,
		})
	}
	return chart.Ticks(ticks, show.Plural(int64(len(runs)), "run", "runs")+", "+show.Count(int64(failed))+" failed")
}

// panels are the tables of upcoming and of past runs.
func (l runLists) panels(r *page.Request) []panel {
	soonest, more := cut(l.upcoming.Result().GetFlowRuns(), upcomingRows)
	latest, _ := cut(l.past.Result().GetFlowRuns(), pastRows)
	rows := runRows(r, slices.Concat(soonest, latest), true)
	upcoming := panel{Title: "Upcoming", Table: upcomingTable(rows[:len(soonest)]), Problem: page.Problem(l.upcoming.Err())}
	if more {
		upcoming.More, upcoming.MoreTitle = r.To("runs", "upcoming")+"?"+l.query.Encode(), "All upcoming runs"
	}
	past := &table{Columns: []string{"State", "Run", "Start", "Took", "Tasks", "Tags"}, Empty: "No run has started yet."}
	for _, row := range rows[len(soonest):] {
		took := mark(row.Took)
		took.Number = true
		past.add(mark(row.State), link(row.Link, row.Name), mark(row.Start), took, cell{Text: row.Tasks, Number: true}, mark(row.Tags))
	}
	last := panel{Title: "Last runs", Table: past, Problem: page.Problem(l.past.Err())}
	if len(latest) > 0 {
		l.query.Set("from", "-30d")
		last.More, last.MoreTitle = r.To("runs")+"?"+l.query.Encode(), "All runs"
	}
	return []panel{upcoming, last}
}

// upcomingTable lists runs that have not started.
func upcomingTable(rows []runRow) *table {
	t := &table{Columns: []string{"State", "Run", "Expected start", "Tags"}, Empty: "No run is scheduled."}
	for _, row := range rows {
		t.add(mark(row.State), link(row.Link, row.Name), mark(row.Start), mark(row.Tags))
	}
	return t
}

// upcomingLink leads from a list of runs to the upcoming ones of the same objects.
func upcomingLink(r *page.Request) string {
	query := url.Values{}
	for _, f := range hiddenFields(r, "flow", "deployment", "pool", "tz") {
		query.Add(f.Name, f.Value)
	}
	link := r.To("runs", "upcoming")
	if len(query) > 0 {
		link += "?" + query.Encode()
	}
	return link
}

// upcomingPage lists the upcoming runs, the soonest first.
func upcomingPage() page.Page {
	return page.Page{
		Pattern: "/runs/upcoming",
		Section: "/runs",
		Needs:   []string{orchv1.FlowRunService_ReadFlowRuns_FullMethodName},
		Uses:    slices.Concat(runRowCalls, runFilterCalls),
		Show:    showUpcoming,
	}
}

func showUpcoming(r *page.Request) (page.View, error) {
	skip := r.Int("skip", 0, 1_000_000, 0)
	f, err := readRunFilter(r)
	if err != nil {
		return page.View{}, err
	}
	related := f.related()
	if len(f.Deployments) > 0 {
		related["deployments"] = apicall.JSON{"id": any_(f.Deployments)}
	}
	body := runlist.Upcoming().Query(related)
	body["limit"], body["offset"] = param50+1, skip
	runs := apicall.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, apicall.Input{Body: body})
	if err := r.Call(runs); err != nil {
		return page.View{}, err
	}
	list, more := cut(runs.Result().GetFlowRuns(), param50)
	t := &table{Columns: []string{"State", "Run", "Flow", "Expected start", "Tags"}, Empty: "No run is scheduled."}
	for _, row := range runRows(r, list, false) {
		t.add(mark(row.State), link(row.Link, row.Name), mark(row.Flow), mark(row.Start), mark(row.Tags))
	}
	v := listView{Title: "Upcoming runs", Table: *t, Links: []tab{{Title: "All runs", Path: r.To("runs")}}}
	if more {
		v.Table.Later = r.Here("skip", show.Digits(skip+param50))
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}
