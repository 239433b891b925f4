package rules

// enforceCancellingToCancelled lets a cancelling run end only as cancelled.
var enforceCancellingToCancelled = Rule{
	Name: "EnforceCancellingToCancelledTransition", From: setOf(cancelling), To: anyState &^ setOf(cancelled),
	Before: func(t *Transition) {
		t.reject(nil, "A run that is being cancelled can only become Cancelled.")
	},
}

// bypassCancellingWithoutInfrastructure cancels a run without a process at once, because no worker would do it.
var bypassCancellingWithoutInfrastructure = Rule{
	Name: "BypassCancellingFlowRunsWithNoInfra", From: setOf(scheduled, paused), To: setOf(cancelling),
	Before: func(t *Transition) {
		idle := t.from() == scheduled && (t.Run.GetInfrastructurePid() == "" || t.Initial.GetName() == nameResuming)
		suspended := t.from() == paused && t.Initial.GetStateDetails().GetPauseReschedule()
		if idle || suspended {
			instead := t.newState(cancelled, "")
			instead.Message = t.Proposed.Message
			t.reject(instead, "The run has no infrastructure to be cancelled.")
		}
	},
}
