package pages

import (
	"net/url"
	"slices"
	"time"

	"github.com/orch-project/orch/pkg/runlist"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// homeView is the data of the home page.
type homeView struct {
	Tiles []tile
	// Figure shows how many runs there were, and how long each took.
	Figure markup.Markup
	// Pools are the first work pools; AllPools leads to all of them.
	Pools    []poolStatusLine
	AllPools string
	// Next are the soonest upcoming runs; AllNext leads to all of them.
	Next        []runRow
	AllNext     string
	Failures    []failureRow
	AllFailures string
	Windows     []choice
	Path        string
	Problems    []string
	// Attention is what needs a person; More counts the lines beyond maxAttention.
	Attention []attention
	Headline  string
	More      string
	// FirstSteps show how to begin in a workspace without flows; nil in any other.
	FirstSteps *firstSteps
}

// tile is a number that leads to what it counts.
type tile struct {
	Label, Value, Link, Class string
}

// failuresRead is the number of failed runs that the home page groups by their cause. Each is a whole document, parameters included.
const failuresRead = 50

// rateWindow is the time of which the home page counts events. It is short, because a count walks an index.
const rateWindow = 10 * time.Minute

func homePage() page.Page {
	return page.Page{
		Pattern: "/",
		Section: "/",
		Live:    "runs",
		Uses: slices.Concat([]string{
			orchv1.FlowRunService_CountFlowRuns_FullMethodName,
			orchv1.FlowRunService_ReadFlowRuns_FullMethodName,
			orchv1.FlowService_CountFlows_FullMethodName,
			orchv1.EventService_CountEvents_FullMethodName,
			scatterRPC,
		}, attentionCalls, failureCalls, runRowCalls),
		Show: showHome,
	}
}

// nextRuns is the number of upcoming runs on the home page.
const nextRuns = 7

// futurePart is the part of the window's length by which the figure of the home page goes on after now, for upcoming runs.
const futurePart = 12

// windowColumns is the number of parts of a day, of five minutes each, in which the home page finds the earliest run.
const windowColumns = 288

// smallWindows are the default windows of the home page, smallest first.
var smallWindows = []string{"-1h", "-6h", "-24h"}

// homeWindow returns the window of the address, else the smallest one that contains all runs of the last 24 hours.
func homeWindow(r *page.Request) param.Window {
	largest := smallWindows[len(smallWindows)-1]
	if r.HTTP.URL.Query().Get("from") != "" {
		return r.Window()
	}
	day := runFilter{Window: chartWindow(r.WindowFrom(largest))}
	if r.Err() != nil {
		return day.Window
	}
	counts := histogramCall(day, windowColumns)
	_ = r.Call(counts) // Without an answer, the largest window is shown.
	earliest := day.Window.From
	for i, cell := range counts.Result().GetCells() {
		if at := day.Window.From.Add(day.Window.Length() / windowColumns * time.Duration(cell.GetColumn())); i == 0 || at.Before(earliest) {
			earliest = at
		}
	}
	for _, from := range smallWindows {
		if w := r.WindowFrom(from); !w.From.After(earliest) {
			return w
		}
	}
	return r.WindowFrom(largest)
}

func showHome(r *page.Request) (page.View, error) {
	f := runFilter{Window: homeWindow(r), Rows: failuresRead - 1}
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	charted, overdue, figure := f, f, f
	charted.Window = chartWindow(f.Window)
	overdue.Window, figure.Window = charted.Window, charted.Window
	if charted.Window.Open {
		figure.Window.To = charted.Window.To.Add(charted.Window.Length() / futurePart)
	}
	histogram := histogramCall(figure, bars(figure.Window))
	next := readRunList(runlist.Upcoming(), nil, nextRuns)
	overdue.Late = true
	lateBody := overdue.body(overdue.Window.To)
	lateBody["limit"] = mostCounted + 1
	lateRuns := apicall.NewShared[*orchv1.CountResponse](orchv1.FlowRunService_CountFlowRuns_FullMethodName, apicall.Input{Body: lateBody})
	sources := newAttentionSources(0)
	events := countEvents("time", apicall.JSON{
		"filter": apicall.JSON{"occurred": apicall.JSON{"since": r.Now.Add(-rateWindow), "until": r.Now}}, "time_unit": "minute", "time_interval": rateWindow.Minutes(),
	})
	failed := f
	failed.States = []string{"FAILED", "CRASHED"}
	failures := apicall.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, apicall.Input{Body: failed.list()})
	_ = r.Call(append(sources.calls(), histogram, lateRuns, failures, events, next)...) // A failed call leaves its panel out.

	v := homeView{
		Windows: windows(f.Window.Text), Path: r.Path(), Problems: problems(histogram, failures),
	}
	flows := apicall.New[*orchv1.CountResponse](orchv1.FlowService_CountFlows_FullMethodName, apicall.Input{Body: apicall.JSON{}}) // It is rarely asked.
	counts := stateTotals(histogram.Result())
	if len(counts) == 0 && len(sources.webhooks.Result().GetWebhooks()) == 0 && histogram.Err() == nil && r.Call(flows) == nil && flows.Result().GetCount() == 0 {
		v.FirstSteps = newFirstSteps(r)
	}
	if v.FirstSteps == nil && (len(counts) > 0 || histogram.Err() != nil) {
		v.Figure = runFigure(r, figure.Window, histogram.Result(), scatterImage(r, charted.Window, figure.Window.To), "Runs by expected start: how many, and how long each took")
	}
	query := url.Values{"from": {f.Window.Text}}
	link := func(states ...string) string {
		query["state"] = states
		return r.To("runs") + "?" + query.Encode()
	}
	if histogram.Err() == nil {
		for _, t := range []struct {
			label, class string
			state        orchv1.StateType
		}{
			{"Completed", "completed", orchv1.StateType_STATE_TYPE_COMPLETED},
			{"Failed", "failed", orchv1.StateType_STATE_TYPE_FAILED},
			{"Crashed", "crashed", orchv1.StateType_STATE_TYPE_CRASHED},
			{"Running", "running", orchv1.StateType_STATE_TYPE_RUNNING},
		} {
			v.Tiles = append(v.Tiles, tile{t.label, show.Count(counts[t.state]), link(show.StateWord(t.state)), tileClass(t.class, counts[t.state])})
		}
	}
	if lateRuns.Err() == nil {
		v.Tiles = append(v.Tiles, tile{"Late", total(nil, lateRuns.Result().GetCount()), link("LATE"), tileClass("late", lateRuns.Result().GetCount())})
	}
	v.setAttention(sources.list(r))
	if events.Err() == nil && len(events.Result().GetCounts()) > 0 {
		var n int64
		for _, c := range events.Result().GetCounts() {
			n += c.GetCount()
		}
		v.Tiles = append(v.Tiles, tile{"Events a minute", show.Rate(n, rateWindow), r.To("events") + "?from=-10m", "pending"})
	}
	v.Next, v.AllNext = runRows(r, next.Result().GetFlowRuns(), false), r.To("runs", "upcoming")
	v.Pools, v.AllPools = sources.poolStatuses(r), r.To("work-pools")
	v.Failures = failureRows(r, f.Window.Text, failures.Result().GetFlowRuns())
	v.AllFailures = link("FAILED", "CRASHED")
	return page.View{Title: "Home", Template: "home.html", Data: v}, nil
}

// setAttention shows the first lines of what needs a person, and counts all of them in the headline.
func (v *homeView) setAttention(all []attention) {
	v.Attention, v.Headline = all[:min(len(all), maxAttention)], "All is well"
	if len(all) > 0 {
		v.Headline = show.Plural(int64(len(all)), "thing needs you", "things need you")
	}
	if more := len(all) - maxAttention; more > 0 {
		v.More = show.Count(int64(more)) + " more"
	}
}

// tileClass is the colour of a count. Zero is quiet.
func tileClass(class string, n int64) string {
	if n == 0 {
		return "none"
	}
	return class
}

// problems words the failures of panels that are not about permissions.
func problems(calls ...apicall.Call) []string {
	var texts []string
	for _, q := range calls {
		if text := page.Problem(q.Err()); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}
