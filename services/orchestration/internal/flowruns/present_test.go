package flowruns

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestPresentComputesTimes(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(d)) }
	state := func(kind orchv1.StateType, since time.Duration) *orchv1.State {
		return &orchv1.State{Id: "id", Type: kind, Timestamp: at(since)}
	}
	for _, c := range []struct {
		name     string
		run      *orchv1.FlowRun
		ran, was float64
	}{
		{"running", &orchv1.FlowRun{TotalRunTime: 5, State: state(orchv1.StateType_STATE_TYPE_RUNNING, -10*time.Second)}, 15, 0},
		{"completed", &orchv1.FlowRun{TotalRunTime: 5, State: state(orchv1.StateType_STATE_TYPE_COMPLETED, -10*time.Second)}, 5, 0},
		{"a clock that stepped back", &orchv1.FlowRun{TotalRunTime: 5, State: state(orchv1.StateType_STATE_TYPE_RUNNING, time.Second)}, 5, 0},
		{"started late", &orchv1.FlowRun{ExpectedStartTime: at(-10 * time.Second), StartTime: at(-7 * time.Second)}, 0, 3},
		{"started early", &orchv1.FlowRun{ExpectedStartTime: at(-7 * time.Second), StartTime: at(-10 * time.Second)}, 0, 0},
		{"is late", &orchv1.FlowRun{ExpectedStartTime: at(-4 * time.Second), State: state(orchv1.StateType_STATE_TYPE_SCHEDULED, 0)}, 0, 4},
		{"will start", &orchv1.FlowRun{ExpectedStartTime: at(4 * time.Second)}, 0, 0},
		{"will not start any more", &orchv1.FlowRun{ExpectedStartTime: at(-4 * time.Second), State: state(orchv1.StateType_STATE_TYPE_CANCELLED, 0)}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Present(c.run, now)
			require.InDelta(t, c.ran, got.GetEstimatedRunTime(), 1e-9)
			require.InDelta(t, c.was, got.GetEstimatedStartTimeDelta(), 1e-9)
			require.Equal(t, c.run.GetState().GetType(), got.GetStateType())
		})
	}
}
