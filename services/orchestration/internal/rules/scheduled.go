package rules

// State names with a meaning for rules; other names are free text.
const (
	nameLate          = "Late"
	nameAwaitingRetry = "AwaitingRetry"
	nameResuming      = "Resuming"
)

// ensureOnlyScheduledMarkedLate marks a run late only once and only while it waits.
var ensureOnlyScheduledMarkedLate = Rule{
	Name: "EnsureOnlyScheduledFlowsMarkedLate", From: anyState, To: setOf(scheduled),
	Before: func(t *Transition) {
		if t.Proposed.GetName() != nameLate {
			return
		}
		switch {
		case t.from() != scheduled:
			t.reject(nil, "Only scheduled runs can be marked late.")
		case t.Initial.GetName() == nameLate:
			t.reject(nil, "The run is already marked late.")
		}
	},
}

// copyScheduledTime copies the scheduled time into a pending state.
func copyScheduledTime[T transition]() rule[T] {
	return rule[T]{
		Name: "CopyScheduledTime", From: setOf(scheduled), To: setOf(pending),
		Before: func(tr T) {
			t := tr.judgement()
			if t.Proposed.StateDetails.ScheduledTime == nil {
				t.Proposed.StateDetails.ScheduledTime = t.Initial.GetStateDetails().GetScheduledTime()
			}
		},
	}
}

// waitForScheduledTime prevents a run from starting early.
func waitForScheduledTime[T transition]() rule[T] {
	return rule[T]{
		Name: "WaitForScheduledTime", From: setOf(scheduled, pending), To: setOf(running),
		Before: func(tr T) {
			t := tr.judgement()
			at := t.Initial.GetStateDetails().GetScheduledTime()
			if at == nil {
				return
			}
			if early := at.AsTime().Sub(t.Now); early > 0 {
				t.wait(early, "Scheduled time is in the future")
			}
		},
	}
}
