package pages

import (
	"slices"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// asOfView is the part of a page that shows a run as it was at a moment, and the form that chooses the moment.
type asOfView struct {
	// At is the value of the form; Text and Now are empty for a page of now.
	At, Text, Now string
	Path          string
	Hidden        []hiddenField
}

// newMomentView returns the form for a moment. The zero time means now.
func newMomentView(r *page.Request, at time.Time) asOfView {
	v := asOfView{Path: r.Path(), Hidden: hiddenFields(r, "level", "logger", "attempt", "q", "sort", "tz", "state", "n", "event", "resource")}
	if !at.IsZero() {
		v.At, v.Text, v.Now = stamp(at), clockOf(r).Text(at), r.Here("at", "", "skip", "")
	}
	return v
}

// momentQuery is the parameter of a moment for links to the other parts of a run, empty for now.
func momentQuery(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return "?at=" + stamp(at)
}

// until is the moment of a page: a past one, or now.
func until(r *page.Request, at time.Time) time.Time {
	if at.IsZero() {
		return r.Now
	}
	return at
}

// statesUntil returns the states that a run had entered at a moment. The zero time means now.
func statesUntil(states []*orchv1.State, at time.Time) []*orchv1.State {
	if at.IsZero() {
		return states
	}
	return slices.DeleteFunc(slices.Clone(states), func(s *orchv1.State) bool { return s.GetTimestamp().AsTime().After(at) })
}

// logsUntil restricts a filter of log lines to those before a moment.
func logsUntil(filter apicall.JSON, at time.Time) apicall.JSON {
	if !at.IsZero() {
		filter["timestamp"] = apicall.JSON{"before_": at}
	}
	return filter
}
