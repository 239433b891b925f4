package rules

// preventDuplicateTransitions gives a repeated request the outcome of the first. Clients give each attempt an id and
// repeat unacknowledged requests; without this rule a retry would count twice.
var preventDuplicateTransitions = Rule{
	Name: "PreventDuplicateTransitions", From: anyState, To: anyState,
	Before: func(t *Transition) {
		before := t.Initial.GetStateDetails()
		after := t.Proposed.GetStateDetails()
		if before == nil || before.TransitionId == nil || after.TransitionId == nil {
			return
		}
		if before.GetTransitionId() == after.GetTransitionId() {
			t.reject(nil, "This run has already made this state transition.")
		}
	},
}
