package runs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestEstimates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) *timestamppb.Timestamp {
		return timestamppb.New(now.Add(time.Duration(seconds) * time.Second))
	}
	state := func(kind orchv1.StateType, seconds int) *orchv1.State {
		return &orchv1.State{Type: kind, Timestamp: at(seconds)}
	}
	pending, running := orchv1.StateType_STATE_TYPE_PENDING, orchv1.StateType_STATE_TYPE_RUNNING
	for name, c := range map[string]struct {
		expected, start *timestamppb.Timestamp
		state           *orchv1.State
		ran, late       float64
	}{
		"never expected":         {nil, nil, nil, 7, 0},
		"started late":           {at(-60), at(-50), state(running, -20), 27, 10},
		"started early":          {at(-50), at(-60), state(running, -20), 27, 0},
		"late":                   {at(-5), nil, state(pending, -5), 7, 5},
		"not due":                {at(5), nil, state(pending, -5), 7, 0},
		"will not start":         {at(-5), nil, state(orchv1.StateType_STATE_TYPE_CANCELLED, -1), 7, 0},
		"a clock that is behind": {at(-5), at(-5), state(running, 3), 7, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDelta(t, c.ran, RunTime(7, c.state, now), 1e-9, name)
			require.InDelta(t, c.late, Lateness(c.expected, c.start, c.state, now), 1e-9, name)
		})
	}
}
