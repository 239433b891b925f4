package rules

import orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"

// handleFlowTerminalStates guards ended runs: they may run again, but their result is never removed.
var handleFlowTerminalStates = Rule{
	Name: "HandleFlowTerminalStateTransitions", From: terminal, To: anyState,
	Before: func(t *Transition) {
		to := t.to()
		switch {
		case setOf(cancelling, paused, crashed).Has(to):
			t.abort("The run has already ended.")
			return
		case t.from() == completed && persisted(t.Initial) && !Terminal(to):
			t.reject(nil, "The run is already completed.")
			return
		case t.from() == completed && persisted(t.Initial) && to == completed && !persisted(t.Proposed):
			t.reject(nil, "The run is completed and has a result that this state would lose.")
			return
		case to == scheduled && t.Run.DeploymentId == nil:
			t.abort("A run without a deployment cannot be scheduled again.")
			return
		}
		if Terminal(to) || !t.Client.TracksPauses() {
			return
		}
		var retry *orchv1.RetryType
		if to == scheduled {
			retry = orchv1.RetryType_RETRY_TYPE_RESCHEDULE.Enum()
		}
		resetPauses(t.Run.GetEmpiricalPolicy(), retry)
	},
}
