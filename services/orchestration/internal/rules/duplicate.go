package rules

// preventDuplicateTransitions answers a repeated request like one that already took place. Clients stamp each attempt
// with an id and repeat what was not answered; without this rule a retry would count twice.
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
