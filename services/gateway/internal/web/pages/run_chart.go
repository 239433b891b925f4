package pages

import (
	"net/url"
	"slices"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// histogramBars is the number of bars of a histogram.
const histogramBars = 60

// stacking is the order of states in a bar, from the bottom.
var stacking = []orchv1.StateType{
	orchv1.StateType_STATE_TYPE_COMPLETED, orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_CRASHED,
	orchv1.StateType_STATE_TYPE_CANCELLED, orchv1.StateType_STATE_TYPE_CANCELLING, orchv1.StateType_STATE_TYPE_PAUSED,
	orchv1.StateType_STATE_TYPE_RUNNING, orchv1.StateType_STATE_TYPE_PENDING, orchv1.StateType_STATE_TYPE_SCHEDULED,
}

// runHistogram draws the history of runs. A bar leads to the runs that it counts.
func runHistogram(r *page.Request, intervals []*orchv1.HistoryResponse, caption string) markup.Markup {
	return historyChart(r, intervals, caption, func(bar chart.Bar) string {
		query := url.Values{"from": {stamp(bar.From)}, "to": {stamp(bar.To)}}
		for _, name := range []string{"state", "flow", "deployment", "tag", "q", "tz"} {
			if values := r.HTTP.URL.Query()[name]; len(values) > 0 {
				query[name] = values
			}
		}
		return r.To("runs") + "?" + query.Encode()
	})
}

// historyChart draws a history. The function returns the link of a bar, empty for none.
func historyChart(r *page.Request, intervals []*orchv1.HistoryResponse, caption string, link func(chart.Bar) string) markup.Markup {
	h := chart.Histogram{Clock: clockOf(r), Caption: caption}
	for _, interval := range intervals {
		counts := map[orchv1.StateType]int64{}
		for _, s := range interval.GetStates() {
			counts[s.GetStateType()] += s.GetCountRuns()
		}
		bar := chart.Bar{From: interval.GetIntervalStart().AsTime(), To: interval.GetIntervalEnd().AsTime()}
		for _, state := range stacking {
			if counts[state] > 0 {
				class := strings.ToLower(show.StateWord(state))
				bar.Parts = append(bar.Parts, chart.Part{Class: class, Name: class, N: counts[state]})
			}
		}
		bar.Link = link(bar)
		h.Bars = append(h.Bars, bar)
	}
	return h.Markup()
}

// stateTotals sums a history by state type.
func stateTotals(intervals []*orchv1.HistoryResponse) (byType map[orchv1.StateType]int64, late int64) {
	byType = map[orchv1.StateType]int64{}
	for _, interval := range intervals {
		for _, s := range interval.GetStates() {
			byType[s.GetStateType()] += s.GetCountRuns()
			if s.GetStateName() == lateName {
				late += s.GetCountRuns()
			}
		}
	}
	return byType, late
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
		{Value: "-24h", Title: "24 hours"},
		{Value: "-7d", Title: "7 days"},
		{Value: "-30d", Title: "30 days"},
		{Value: "-365d", Title: "1 year"},
	}
	known := false
	for i := range all {
		all[i].Selected = all[i].Value == current
		known = known || all[i].Selected
	}
	if !known {
		all = append(all, choice{Value: current, Title: "since " + current, Selected: true})
	}
	return all
}

// stateChoices are the choices of the parameter state.
func stateChoices(words, selected []string) []choice {
	var all []choice
	for _, word := range words {
		all = append(all, choice{Value: word, Title: stateTitle(word), Selected: slices.Contains(selected, word)})
	}
	return all
}

// stateText words the selected states, for the closed list of choices.
func stateText(selected []string) string {
	var titles []string
	for _, word := range selected {
		titles = append(titles, stateTitle(word))
	}
	if len(titles) > 3 {
		return show.Plural(int64(len(titles)), "state", "states")
	}
	return strings.Join(titles, ", ")
}

func stateTitle(word string) string { return word[:1] + strings.ToLower(word[1:]) }
