package rules

import (
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// transition is a transition of either kind of run.
type transition interface {
	*Transition | *TaskTransition
	judgement() *Judgement
	// settle applies the written state to the run.
	settle()
}

type rule[T transition] struct {
	Name string
	// From and To are the intended transitions to which the rule applies.
	From, To Set
	// Universal rules apply to every transition that still writes a state.
	Universal bool
	// Before decides. After runs if the transition is written as the rule saw it; otherwise CleanUp runs.
	Before  func(T)
	After   func(T)
	CleanUp func(T)
}

func judge[T transition](policy []rule[T], t T, transforms []func(T)) {
	type seen struct {
		rule     rule[T]
		from, to orchv1.StateType
	}
	j := t.judgement()
	from, to := j.from(), j.to()
	var took []seen
	for _, rule := range policy {
		switch {
		case j.Proposed == nil:
			continue
		case rule.Universal:
		case !rule.From.Has(from) || !rule.To.Has(to):
			continue
		case j.from() != from || j.to() != to:
			continue
		}
		if rule.Before != nil {
			rule.Before(t)
		}
		took = append(took, seen{rule, from, to})
	}
	if j.Proposed != nil {
		for _, transform := range commonTransforms {
			transform(j)
		}
		for _, transform := range transforms {
			transform(t)
		}
	}
	for _, s := range slices.Backward(took) {

		same := j.Proposed != nil && (s.rule.Universal || (j.from() == s.from && j.to() == s.to))
		switch {
		case same && s.rule.After != nil:
			s.rule.After(t)
		case !same && s.rule.CleanUp != nil:
			s.rule.CleanUp(t)
		}
	}
	if j.Proposed != nil {
		t.settle()
	}
}
