package rules

import orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"

// Set is a set of state types; the zero bit stands for a run without state.
type Set uint16

const none = orchv1.StateType_STATE_TYPE_UNSPECIFIED

// Short names of the types, for the tables below.
const (
	scheduled  = orchv1.StateType_STATE_TYPE_SCHEDULED
	pending    = orchv1.StateType_STATE_TYPE_PENDING
	running    = orchv1.StateType_STATE_TYPE_RUNNING
	completed  = orchv1.StateType_STATE_TYPE_COMPLETED
	failed     = orchv1.StateType_STATE_TYPE_FAILED
	cancelled  = orchv1.StateType_STATE_TYPE_CANCELLED
	crashed    = orchv1.StateType_STATE_TYPE_CRASHED
	paused     = orchv1.StateType_STATE_TYPE_PAUSED
	cancelling = orchv1.StateType_STATE_TYPE_CANCELLING
)

// The sets that rules use.
var (
	anyState = ^Set(0)
	terminal = setOf(completed, failed, cancelled, crashed)
)

func setOf(types ...orchv1.StateType) Set {
	var s Set
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

// Has reports whether the set contains a type.
func (s Set) Has(t orchv1.StateType) bool { return s&(1<<t) != 0 }

// Terminal reports whether a run of this type has ended.
func Terminal(t orchv1.StateType) bool { return t != none && terminal.Has(t) }
