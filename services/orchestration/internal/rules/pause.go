package rules

import (
	"maps"
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// handlePausing pauses a running run once per key. A flow that restarts after a suspension reaches its earlier pauses
// again and must pass them.
var handlePausing = Rule{
	Name: "HandlePausingFlows", From: anyState, To: setOf(paused),
	Before: func(t *Transition) {
		if t.Initial == nil {
			t.abort("A run without state cannot be paused.")
			return
		}
		if t.from() != running {
			t.reject(nil, "Only running runs can be paused.")
			return
		}
		details := t.Proposed.StateDetails
		if details.PauseKey != nil && slices.Contains(t.Run.GetEmpiricalPolicy().GetPauseKeys().GetValues(), details.GetPauseKey()) {
			t.reject(nil, "This pause has already fired.")
			return
		}
		if !details.GetPauseReschedule() {
			return
		}
		switch {
		case t.Run.ParentTaskRunId != nil:
			t.abort("A subflow run cannot be suspended.")
		case t.Run.DeploymentId == nil:
			t.abort("A run without a deployment cannot be suspended.")
		}
	},
	After: func(t *Transition) {
		policy := t.Run.GetEmpiricalPolicy()
		if policy.PauseKeys == nil {
			policy.PauseKeys = &orchv1.StringSet{}
		}
		key := t.Proposed.GetStateDetails().GetPauseKey()
		if key == "" {
			key = t.NewID().String() // A pause without a key is unique.
		}
		policy.PauseKeys.Values = append(policy.PauseKeys.Values, key)
		t.ObsoleteInputs = slices.Sorted(maps.Values(t.Proposed.GetStateDetails().GetRunInputKeyset().GetValues()))
	},
}

// resetPauses makes the next attempt of a run start anew: it counts, and reaches every pause again.
func resetPauses(policy *orchv1.FlowRunPolicy, retry *orchv1.RetryType) {
	policy.Resuming, policy.PauseKeys, policy.RetryType = new(false), &orchv1.StringSet{}, retry
}

// handleResuming lets a paused run continue or end. A run whose process waits continues in it; one that is scheduled instead starts anew.
var handleResuming = Rule{
	Name: "HandleResumingPausedFlows", From: setOf(paused), To: anyState,
	Before: func(t *Transition) {
		to := t.to()
		if !setOf(running, scheduled, cancelling).Has(to) && !Terminal(to) {
			t.reject(nil, "A paused run cannot become "+DefaultName(to)+".")
			return
		}
		details := t.Initial.GetStateDetails()
		if details.GetPauseReschedule() && t.Run.DeploymentId == nil {
			t.reject(nil, "A run without a deployment cannot be scheduled again.")
			return
		}
		if to == cancelling {
			return
		}
		if limit := details.GetPauseTimeout(); limit != nil && limit.AsTime().Before(t.Now) {
			instead := t.newState(failed, "")
			instead.Message = new("The flow was paused and never resumed.")
			t.reject(instead, "The flow run pause has timed out and can no longer resume.")
		}
	},
	After: func(t *Transition) {
		policy := t.Run.GetEmpiricalPolicy()
		if t.to() == scheduled && !t.Initial.GetStateDetails().GetPauseReschedule() && t.Client.TracksPauses() {
			resetPauses(policy, orchv1.RetryType_RETRY_TYPE_RESCHEDULE.Enum())
			return
		}
		policy.Resuming = new(true)
	},
}
