package pages

import (
	"slices"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// histogramBars is the number of bars of a histogram.
const histogramBars = 60

// stacking is the order of states in a bar, from the bottom. Failures begin at the base line, so that their bars compare.
var stacking = []orchv1.StateType{
	orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_CRASHED, orchv1.StateType_STATE_TYPE_COMPLETED,
	orchv1.StateType_STATE_TYPE_CANCELLED, orchv1.StateType_STATE_TYPE_CANCELLING, orchv1.StateType_STATE_TYPE_PAUSED,
	orchv1.StateType_STATE_TYPE_RUNNING, orchv1.StateType_STATE_TYPE_PENDING, orchv1.StateType_STATE_TYPE_SCHEDULED,
}

// chartSteps is the number of steps by which the chart of an open window moves on while the window has its length.
const chartSteps = 1440

// chartWindow returns the window of a page's charts. An open one ends at the next step, a minute for a day, so that readers who
// look at the same runs share an answer.
func chartWindow(w param.Window) param.Window {
	if !w.Open {
		return w
	}
	step, length := max(w.Length()/chartSteps, time.Second), w.Length()
	w.To = w.To.Add(step - 1).Truncate(step)
	w.From = w.To.Add(-length)
	return w
}

// histogramCall asks for the runs of a histogram. The scatter in one row is a histogram; it reads keys of an index alone, where
// the history of runs reads each run.
func histogramCall(f runFilter, columns int) *apicall.Unary[*orchv1.FlowRunScatter] {
	body := f.scatterBody()
	body["columns"], body["rows"] = columns, 1
	return apicall.NewShared[*orchv1.FlowRunScatter](scatterRPC, apicall.Input{Body: body})
}

// bars is the number of bars for a window: at most one for each second.
func bars(w param.Window) int {
	return int(min(histogramBars, max(1, w.Length()/time.Second)))
}

// bucket counts the runs of a bar by state type.
type bucket struct {
	from, to time.Time
	counts   map[orchv1.StateType]int64
}

// runFigure draws the runs of a window, which histogramCall asked for, with an image below them. Nil runs leave the image alone, and
// a nil image leaves the bars alone. A bar and an entry of the legend lead to the runs that they count.
func runFigure(r *page.Request, w param.Window, runs *orchv1.FlowRunScatter, image *chart.Image, caption string) markup.Markup {
	columns := bars(w)
	buckets := make([]bucket, columns)
	edge := func(column int) time.Time {
		return w.From.Add(w.Length() / time.Duration(columns) * time.Duration(column))
	}
	for i := range buckets {
		buckets[i] = bucket{edge(i), edge(i + 1), map[orchv1.StateType]int64{}}
	}
	buckets[columns-1].to = w.To
	for _, cell := range runs.GetCells() {
		if cell.GetColumn() >= 0 && cell.GetColumn() < int64(columns) {
			buckets[cell.GetColumn()].counts[cell.GetStateType()] += cell.GetCount()
		}
	}
	h := histogram(r, buckets, caption, func(bar chart.Bar) string {
		return r.To("runs") + "?" + runsQuery(r, bar.From, bar.To).Encode()
	})
	h.Image = image
	totals := stateTotals(runs)
	for _, state := range stacking {
		if n := totals[state]; n > 0 {
			query := runsQuery(r, w.From, w.To)
			query.Set("state", show.StateWord(state))
			h.Legend = append(h.Legend, chart.Entry{
				Class: strings.ToLower(show.StateWord(state)), Title: stateTitle(show.StateWord(state)), Link: r.To("runs") + "?" + query.Encode(), N: n,
			})
		}
	}
	return h.Markup()
}

// historyChart draws a history without links.
func historyChart(r *page.Request, intervals []*orchv1.HistoryResponse, caption string) markup.Markup {
	var buckets []bucket
	for _, interval := range intervals {
		counts := map[orchv1.StateType]int64{}
		for _, s := range interval.GetStates() {
			counts[s.GetStateType()] += s.GetCountRuns()
		}
		buckets = append(buckets, bucket{interval.GetIntervalStart().AsTime(), interval.GetIntervalEnd().AsTime(), counts})
	}
	return histogram(r, buckets, caption, func(chart.Bar) string { return "" }).Markup()
}

// histogram stacks buckets by state. The function returns the link of a bar, empty for none.
func histogram(r *page.Request, buckets []bucket, caption string, link func(chart.Bar) string) chart.Histogram {
	h := chart.Histogram{Clock: clockOf(r), Caption: caption}
	for _, b := range buckets {
		bar := chart.Bar{From: b.from, To: b.to}
		for _, state := range stacking {
			if n := b.counts[state]; n > 0 {
				class := strings.ToLower(show.StateWord(state))
				bar.Parts = append(bar.Parts, chart.Part{Class: class, Name: class, N: n})
			}
		}
		bar.Link = link(bar)
		h.Bars = append(h.Bars, bar)
	}
	return h
}

// stateTotals sums the runs of a histogram by state type.
func stateTotals(runs *orchv1.FlowRunScatter) map[orchv1.StateType]int64 {
	totals := map[orchv1.StateType]int64{}
	for _, cell := range runs.GetCells() {
		totals[cell.GetStateType()] += cell.GetCount()
	}
	return totals
}

// stamp formats a time for an address.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// choice is an option of a filter.
type choice struct {
	Value, Title string
	Selected     bool
}

// windows are the choices of the parameter from.
func windows(current string) []choice {
	all := []choice{
		{Value: "-1h", Title: "1 hour"},
		{Value: "-6h", Title: "6 hours"},
		{Value: "-24h", Title: "24 hours"},
		{Value: "-7d", Title: "7 days"},
		{Value: "-30d", Title: "30 days"},
		{Value: "-365d", Title: "1 year"},
	}
	found := false
	for i := range all {
		all[i].Selected = all[i].Value == current
		found = found || all[i].Selected
	}
	if !found {
		all = append(all, choice{Value: current, Title: "since " + current, Selected: true})
	}
	return all
}

// stateChoices are the choices of the parameter state.
func stateChoices(words, selected []string) []choice {
	var all []choice
	for _, name := range words {
		all = append(all, choice{Value: name, Title: stateTitle(name), Selected: slices.Contains(selected, name)})
	}
	return all
}

// stateText words the selected states, for the closed list of choices.
func stateText(selected []string) string {
	var titles []string
	for _, name := range selected {
		titles = append(titles, stateTitle(name))
	}
	if len(titles) > 3 {
		return show.Plural(int64(len(titles)), "state", "states")
	}
	return strings.Join(titles, ", ")
}

func stateTitle(name string) string { return name[:1] + strings.ToLower(name[1:]) }
