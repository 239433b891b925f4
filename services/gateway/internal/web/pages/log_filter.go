package pages

import (
	"fmt"
	"maps"
	"slices"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// logSource is the run whose lines a page shows.
type logSource struct {
	// run is the part of the filter that selects the run.
	run apicall.JSON
	// states are the states of the run, oldest first. They tell when each attempt began.
	states []*orchv1.State
	// at is the moment of the page; the zero time means now.
	at time.Time
	// path is the address of the page of lines.
	path string
}

// logFilter is the selection of log lines in an address: the parameters level, q, logger, attempt, sort and skip.
type logFilter struct {
	Level, Q, Logger, Order string
	// Attempt counts from 1; 0 means all.
	Attempt, Skip int
}

// logLevels are the choices of the parameter level.
func logLevels() []string {
	names := []string{"all"}
	for _, l := range levels {
		names = append(names, l.name)
	}
	return names
}

func readLogFilter(r *page.Request) (logFilter, error) {
	f := logFilter{
		Level: r.Word("level", logLevels()...), Q: r.Text("q"), Logger: r.Text("logger"), Order: r.Word("sort", "oldest", "newest"),
		Attempt: r.Int("attempt", 0, 1_000_000, 0), Skip: r.Int("skip", 0, 10_000_000, 0),
	}
	return f, r.Err()
}

// body returns the filter of the API.
func (f logFilter) body(from logSource) (apicall.JSON, error) {
	filter := maps.Clone(from.run)
	for _, l := range levels {
		if l.name == f.Level {
			filter["level"] = apicall.JSON{"ge_": l.least}
		}
	}
	if f.Q != "" {
		filter["text"] = apicall.JSON{"query": show.Prefix(f.Q, maxLogQuery)}
	}
	if f.Logger != "" {
		filter["name"] = any_([]string{f.Logger})
	}
	timestamp := apicall.JSON{}
	if !from.at.IsZero() {
		timestamp["before_"] = from.at
	}
	if f.Attempt > 0 {
		begins := attempts(from.states)
		if f.Attempt > len(begins) {
			return nil, &param.Invalid{Name: "attempt", Value: show.Digits(f.Attempt), Expected: fmt.Sprintf("a number from 1 to %d", max(len(begins), 1))}
		}
		if f.Attempt > 1 { // Lines before the first attempt belong to it.
			timestamp["after_"] = begins[f.Attempt-1]
		}
		if f.Attempt < len(begins) {
			if end := begins[f.Attempt].Add(-time.Microsecond); from.at.IsZero() || end.Before(from.at) {
				timestamp["before_"] = end
			}
		}
	}
	if len(timestamp) > 0 {
		filter["timestamp"] = timestamp
	}
	return filter, nil
}

// statesOfAttempts reads the states of a run if the page needs its attempts: most runs have one.
func statesOfAttempts(r *page.Request, states *apicall.Unary[*orchv1.StateList], count int64) []*orchv1.State {
	if count > 1 || r.HTTP.URL.Query().Get("attempt") != "" {
		_ = r.Call(states) // Without the states the page offers no attempts.
	}
	return states.Result().GetStates()
}

// attempts returns when each attempt of a run began: each time that it entered RUNNING, as its count of runs has it.
func attempts(states []*orchv1.State) []time.Time {
	var begins []time.Time
	for _, s := range states {
		if s.GetType() == orchv1.StateType_STATE_TYPE_RUNNING {
			begins = append(begins, s.GetTimestamp().AsTime())
		}
	}
	return begins
}

// levelChoices are the choices of the parameter level.
func (f logFilter) levelChoices() []choice {
	var all []choice
	for _, name := range logLevels() {
		all = append(all, choice{Value: name, Title: name, Selected: name == f.Level})
	}
	return all
}

// loggerChoices are the loggers of the lines shown, and the chosen one.
func (f logFilter) loggerChoices(logs []*orchv1.Log) []choice {
	names := []string{f.Logger}
	for _, l := range logs {
		names = append(names, l.GetName())
	}
	var all []choice
	for _, name := range slices.Sorted(slices.Values(unique(names))) {
		all = append(all, choice{Value: name, Title: show.Line(name, 60), Selected: name == f.Logger})
	}
	return all
}

// attemptChoices are empty for a run with one attempt.
func (f logFilter) attemptChoices(states []*orchv1.State) []choice {
	n := len(attempts(states))
	if n < 2 {
		return nil
	}
	all := []choice{{Value: "", Title: "all"}}
	for i := 1; i <= n; i++ {
		all = append(all, choice{Value: show.Digits(i), Title: show.Digits(i), Selected: i == f.Attempt})
	}
	return all
}
