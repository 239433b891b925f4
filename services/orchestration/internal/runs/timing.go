package runs

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// RunTime is the running time of a run: its completed running periods and the current one, in seconds.
func RunTime(total float64, state *orchv1.State, now time.Time) float64 {
	if state.GetType() == orchv1.StateType_STATE_TYPE_RUNNING {
		total += max(0, now.Sub(state.GetTimestamp().AsTime()).Seconds())
	}
	return total
}

// Lateness is how many seconds after its scheduled time a run started, or has waited so far. It is 0 for a run that is
// on time or will not start.
func Lateness(expected, start *timestamppb.Timestamp, state *orchv1.State, now time.Time) float64 {
	switch {
	case expected == nil:
	case start != nil:
		return max(0, start.AsTime().Sub(expected.AsTime()).Seconds())
	case !rules.Terminal(state.GetType()):
		return max(0, now.Sub(expected.AsTime()).Seconds())
	}
	return 0
}
