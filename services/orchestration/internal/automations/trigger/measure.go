package trigger

import (
	"strings"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// RunEvent is the event of a flow run's new state.
type RunEvent struct {
	Run   uuid.UUID
	State string // The last part of the event's name: "Completed".
	// At is when it occurred, in microseconds.
	At int64
}

// Measure computes a metric over the state events of runs that occurred within its range before a time, in their order:
//
//   - successes: the share, from 0 to 1, of the runs that became pending whose latest state is neither Failed nor Crashed
//   - duration: the mean time from Running to a terminal state, in seconds, of the runs that ended
//   - lateness: the mean time from Late to Running or Crashed, in seconds, of the runs that were late and began
func Measure(query *orchv1.MetricTriggerQuery, events []RunEvent, now int64) MetricSample {
	since := now - query.GetRange().AsDuration().Microseconds()
	runs := map[uuid.UUID]*history{}
	for _, e := range events {
		if e.At < since || e.At > now {
			continue
		}
		h := runs[e.Run]
		if h == nil {
			h = &history{}
			runs[e.Run] = h
		}
		h.add(e)
	}
	sum, n := 0.0, 0
	for _, h := range runs {
		if value, counts := h.value(query.GetName()); counts {
			sum += value
			n++
		}
	}
	if n == 0 {
		return MetricSample{}
	}
	return MetricSample{Value: sum / float64(n), Known: true}
}

// history is what happened to a run within the range. Times are 0 where something did not happen.
type history struct {
	pending        bool
	latest         string
	late, began    int64 // The first Late, and the first Running or Crashed after it.
	running, ended int64 // The first Running, and the first terminal state after it.
}

func (h *history) add(e RunEvent) {
	h.latest = e.State
	switch {
	case e.State == "Pending":
		h.pending = true
	case e.State == "Late" && h.late == 0:
		h.late = e.At
	}
	if (e.State == "Running" || e.State == "Crashed") && h.late != 0 && h.began == 0 {
		h.began = e.At
	}
	if e.State == "Running" && h.running == 0 {
		h.running = e.At
	}
	if terminal(e.State) && h.running != 0 && h.ended == 0 {
		h.ended = e.At
	}
}

func terminal(state string) bool {
	return strings.Contains("Completed Failed Crashed Cancelled TimedOut RolledBack Cached", state) && state != ""
}

const second = 1e6

func (h *history) value(name orchv1.MetricName) (float64, bool) {
	switch name {
	case orchv1.MetricName_METRIC_NAME_SUCCESSES:
		if h.latest == "Failed" || h.latest == "Crashed" {
			return 0, h.pending
		}
		return 1, h.pending
	case orchv1.MetricName_METRIC_NAME_DURATION:
		return float64(h.ended-h.running) / second, h.ended != 0
	case orchv1.MetricName_METRIC_NAME_LATENESS:
		return float64(h.began-h.late) / second, h.began != 0
	}
	return 0, false
}
