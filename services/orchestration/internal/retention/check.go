package retention

import (
	"fmt"
	"slices"
	"time"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// minAge is the least maximum age: clients write logs and artifacts for a while after a run has ended.
const minAge = time.Hour

// terminalStates are the states of runs that rules may name.
var terminalStates = []orchv1.StateType{
	orchv1.StateType_STATE_TYPE_COMPLETED, orchv1.StateType_STATE_TYPE_FAILED,
	orchv1.StateType_STATE_TYPE_CANCELLED, orchv1.StateType_STATE_TYPE_CRASHED,
}

// hasStates reports whether documents of a kind are runs.
func hasStates(kind orchv1.RetentionKind) bool {
	return kind == orchv1.RetentionKind_RETENTION_KIND_FLOW_RUNS || kind == orchv1.RetentionKind_RETENTION_KIND_TASK_RUNS
}

// check returns the field errors of rules as one 422, nil for valid rules.
func check(list []*orchv1.RetentionRule) error {
	type selection struct {
		kind  orchv1.RetentionKind
		state orchv1.StateType // Unspecified for the remaining states.
	}
	var errs []*orchv1.FieldError
	taken := map[selection]bool{}
	for i, r := range list {
		add := func(field, format string, args ...any) {
			errs = append(errs, fieldError(i, field, fmt.Sprintf(format, args...)))
		}
		if age := r.GetMaxAge().AsDuration(); age < minAge {
			add("max_age", "must be at least %d seconds", int(minAge.Seconds()))
		}
		states := r.GetStates()
		if len(states) > 0 && !hasStates(r.GetKind()) {
			add("states", "only flow runs and task runs have states")
			continue
		}
		if len(states) == 0 {
			states = []orchv1.StateType{orchv1.StateType_STATE_TYPE_UNSPECIFIED}
		}
		for _, state := range states {
			s := selection{r.GetKind(), state}
			switch {
			case len(r.GetStates()) > 0 && !rules.Terminal(state):
				add("states", "must be terminal: COMPLETED, FAILED, CANCELLED or CRASHED")
			case taken[s]:
				add("kind", "another rule selects the same documents")
			}
			taken[s] = true
		}
	}
	if len(errs) > 0 {
		return rpc.Invalid(errs...)
	}
	return nil
}

func fieldError(rule int, field, text string) *orchv1.FieldError {
	e := rpc.BodyError("value_error", "Value error, "+text, "rules")
	e.Loc = append(e.Loc, &orchv1.PathElement{Kind: &orchv1.PathElement_Index{Index: int64(rule)}},
		&orchv1.PathElement{Kind: &orchv1.PathElement_Key{Key: field}})
	return e
}

// statesOf returns the states that a rule selects: its own, or the terminal ones that no other rule of its kind names. It
// returns none for documents without states.
func statesOf(rule *orchv1.RetentionRule, all []*orchv1.RetentionRule) []orchv1.StateType {
	if !hasStates(rule.GetKind()) || len(rule.GetStates()) > 0 {
		return rule.GetStates()
	}
	return slices.DeleteFunc(slices.Clone(terminalStates), func(state orchv1.StateType) bool {
		return slices.ContainsFunc(all, func(other *orchv1.RetentionRule) bool {
			return other.GetKind() == rule.GetKind() && slices.Contains(other.GetStates(), state)
		})
	})
}
