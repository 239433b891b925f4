package rules

import "fmt"

// preventPendingTransitions lets one worker win: a run that is pending or further along does not become pending again.
// Nor does a completed run, which a worker with an old list of scheduled runs would start again. The name of a pending
// state may change, because a worker reports progress by it (Submitting, InfrastructurePending).
func preventPendingTransitions[T transition]() rule[T] {
	return rule[T]{
		Name: "PreventPendingTransitions", From: setOf(pending, running, cancelling, completed, cancelled), To: setOf(pending),
		Before: func(tr T) {
			t := tr.judgement()
			name := t.Proposed.GetName()
			if t.from() == pending && name != t.Initial.GetName() && name != DefaultName(pending) {
				before, after := t.Initial.GetStateDetails(), t.Proposed.StateDetails
				after.ScheduledTime = before.GetScheduledTime()
				if before.GetDeploymentConcurrencyLeaseId() != "" {
					after.DeploymentConcurrencyLeaseId = before.DeploymentConcurrencyLeaseId
				}
				return
			}
			t.abort(fmt.Sprintf("This run is in a %s state and cannot transition to a %s state.", StateName(t.from()), StateName(pending)))
		},
	}
}
