package rules

import (
	"fmt"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// MarkLatePolicy decides on the server's own proposal that a scheduled run is late.
var MarkLatePolicy = Policy{
	ensureOnlyScheduledMarkedLate,
	enforceSlotOnLate,
}

// NameSkipped is the name of the state that ends a run which has not started by its deadline.
const NameSkipped = "Skipped"

// Skipped returns the state that ends a scheduled run which has not started by its deadline; nil for any other run.
func Skipped(run *orchv1.FlowRun, now time.Time) *orchv1.StateCreate {
	if run.StartDeadline == nil || run.GetState().GetType() != scheduled || now.Before(run.GetStartDeadline().AsTime()) {
		return nil
	}
	limit := run.GetLatenessLimit()
	due := run.GetStartDeadline().AsTime().Add(-time.Duration(limit) * time.Second)
	return &orchv1.StateCreate{
		Type: cancelled, Name: new(NameSkipped), StateDetails: NewDetails(nil),
		Message: new(fmt.Sprintf("The run was due at %s and had not started %d seconds later.", due.Format(time.RFC3339), limit)),
	}
}

// skipLateRuns ends a run that would start after its deadline.
var skipLateRuns = Rule{
	Name: "SkipLateFlowRuns", From: setOf(scheduled), To: setOf(pending, running),
	Before: func(t *Transition) {
		state := Skipped(t.Run, t.Now)
		if state == nil {
			return
		}
		instead := t.newState(state.GetType(), state.GetName())
		instead.Message = state.Message
		t.reject(instead, state.GetMessage())
	},
}
