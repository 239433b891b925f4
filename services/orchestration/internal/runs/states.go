package runs

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// States returns the stored names of the state types for which a condition holds.
func States(condition func(orchv1.StateType) bool) bson.A {
	var names bson.A
	for number := range int32(len(orchv1.StateType_name)) {
		if kind := orchv1.StateType(number); kind != orchv1.StateType_STATE_TYPE_UNSPECIFIED && condition(kind) {
			names = append(names, rules.StateName(kind))
		}
	}
	return names
}

// Active reports whether a run in a state of this type has not ended.
func Active(kind orchv1.StateType) bool { return !rules.Terminal(kind) }
