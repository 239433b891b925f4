package rules

import orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"

// Rule is one part of a policy.
type Rule struct {
	Name string
	// From and To are the intended transitions that the rule takes part in.
	From, To Set
	// Universal rules take part in every transition that still writes something.
	Universal bool
	// Before judges. After runs when the transition that the rule saw is the one that is written; CleanUp when another is.
	Before  func(*Transition)
	After   func(*Transition)
	CleanUp func(*Transition)
}

// Policy is an ordered list of rules.
type Policy []Rule

// CoreFlowPolicy judges what clients propose for flow runs.
var CoreFlowPolicy = Policy{
	preserveConcurrencyLease,
	preventDuplicateTransitions,
	handleFlowTerminalStates,
	enforceCancellingToCancelled,
	bypassCancellingWithoutInfrastructure,
	preventPendingTransitions,
	ensureOnlyScheduledMarkedLate,
	handlePausing,
	handleResuming,
	copyScheduledTime,
	waitForScheduledTime,
	retryFailedFlows,
}

// MinimalFlowPolicy judges forced transitions: it only keeps results from being lost and runs without infrastructure from hanging.
var MinimalFlowPolicy = Policy{
	preventResultDataLoss,
	bypassCancellingWithoutInfrastructure,
}

// Judge applies the policy and, where something is to be written, the transforms; the run's state is then the written
// one. It may be called once for a transition.
func (p Policy) Judge(t *Transition) {
	type seen struct {
		rule     Rule
		from, to orchv1.StateType
	}
	from, to := t.from(), t.to()
	var took []seen
	for _, rule := range p {
		switch {
		case t.Proposed == nil:
			continue
		case rule.Universal:
		case !rule.From.Has(from) || !rule.To.Has(to):
			continue
		case t.from() != from || t.to() != to:
			continue
		}
		if rule.Before != nil {
			rule.Before(t)
		}
		took = append(took, seen{rule, from, to})
	}
	if t.Proposed != nil {
		for _, transform := range flowTransforms {
			transform(t)
		}
	}
	for i := len(took) - 1; i >= 0; i-- {
		s := took[i]
		same := t.Proposed != nil && (s.rule.Universal || (t.from() == s.from && t.to() == s.to))
		switch {
		case same && s.rule.After != nil:
			s.rule.After(t)
		case !same && s.rule.CleanUp != nil:
			s.rule.CleanUp(t)
		}
	}
	if t.Proposed != nil {
		t.Run.State = t.Proposed
	}
}
