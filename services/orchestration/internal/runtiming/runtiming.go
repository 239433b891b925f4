// Package runtiming computes what runs show of themselves and do not store, because it changes with time.
package runtiming

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// RunTime is for how many seconds a run has been running: those of the stretches that are over, and the present one.
func RunTime(total float64, state *orchv1.State, now time.Time) float64 {
	if state.GetType() == orchv1.StateType_STATE_TYPE_RUNNING {
		total += max(0, now.Sub(state.GetTimestamp().AsTime()).Seconds())
	}
	return total
}

// Lateness is by how many seconds a run started late, or is late; 0 when it is on time or will not start.
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
