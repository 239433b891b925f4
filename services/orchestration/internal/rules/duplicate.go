package rules

// preventDuplicateTransitions gives a repeated request the outcome of the first. Clients give each attempt an id and
// repeat unacknowledged requests; without this rule a retry would count twice. A request whose rejection wrote another state is
// repeated too: judged on that state, it would end a run that waits for its retry.
var preventDuplicateTransitions = Rule{
	Name: "PreventDuplicateTransitions", From: anyState, To: anyState,
	Before: func(t *Transition) {
		if t.transitionID == nil || t.Initial == nil {
			return
		}
		switch *t.transitionID {
		case t.Initial.GetStateDetails().GetTransitionId(), t.Run.GetRejectedTransitionId():
			t.reject(nil, "This run has already made this state transition.")
		}
	},
}
