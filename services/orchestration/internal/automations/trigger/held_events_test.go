package trigger_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// missing compiles an automation that fires when fewer than threshold ends follow a start within a window.
func missing(t require.TestingT, threshold int64, within time.Duration) *trigger.Automation {
	a, err := trigger.Compile(uuid.New(), &orchv1.Automation{
		Id: uuid.NewString(), Enabled: true, Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{
			Id: uuid.NewString(), After: []string{"start"}, Expect: []string{"end"}, Threshold: threshold,
			Within: durationpb.New(within), Posture: orchv1.Posture_POSTURE_PROACTIVE,
		}}},
	}, vocabulary.Orch)
	require.NoError(t, err)
	return a
}

func occurred(name string, at time.Time) *orchv1.ReceivedEvent {
	return &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: name, Occurred: timestamppb.New(at),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "r"}},
	}
}

// apply evaluates events in a session of their own, as after a restart, and returns the firings so far.
func apply(ctx context.Context, t require.TestingT, m *trigger.Memory, a *trigger.Automation, now time.Time, events ...*orchv1.ReceivedEvent) int {
	s := trigger.NewSession(m, now)
	for _, e := range events {
		require.NoError(t, s.Event(ctx, a.Leaves[0], e))
	}
	require.NoError(t, s.Tick(ctx, a.Leaves[0], nil))
	require.NoError(t, s.Commit(ctx))
	return len(m.Firings)
}

// TestAWindowCountsEventsThatWereEvaluatedBeforeItsStart: whatever is forgotten, each window counts up to its threshold.
func TestAWindowCountsEventsThatWereEvaluatedBeforeItsStart(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		threshold := rapid.Int64Range(1, 5).Draw(t, "threshold")
		within := time.Duration(rapid.IntRange(10, 120).Draw(t, "seconds of the window")) * time.Second
		start := now.Add(-time.Duration(rapid.IntRange(0, 600).Draw(t, "seconds since the start")) * time.Second)
		a, m := missing(t, threshold, within), trigger.NewMemory()
		counted := int64(0)
		for _, seconds := range rapid.SliceOfN(rapid.IntRange(-900, 900), 0, 60).Draw(t, "seconds from the start to each end") {
			at := start.Add(time.Duration(seconds) * time.Second)
			if seconds >= 0 && at.Before(start.Add(within)) {
				counted++
			}
			apply(ctx, t, m, a, now, occurred("end", at))
		}
		apply(ctx, t, m, a, now, occurred("start", start))
		fired := apply(ctx, t, m, a, start.Add(within).Add(time.Hour))
		require.Equal(t, counted < threshold, fired == 1, "%d of %d ends", counted, threshold)
	})
}

func TestAHeldEvent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		evaluated time.Duration // From the evaluation of the end to that of the start.
		repeated  bool          // The end is delivered again after the start.
		threshold int64
		fires     int
	}{
		"counts in a window that begins later":      {evaluated: time.Minute, threshold: 1},
		"counts for half an hour":                   {evaluated: 30 * time.Minute, threshold: 1},
		"is forgotten after half an hour":           {evaluated: 30*time.Minute + time.Microsecond, threshold: 1, fires: 1},
		"counts once if it is delivered again":      {evaluated: time.Minute, repeated: true, threshold: 2, fires: 1},
		"counts once after its time as a duplicate": {evaluated: 30 * time.Minute, repeated: true, threshold: 2, fires: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			a, m := missing(t, test.threshold, 2*time.Hour), trigger.NewMemory()
			end := occurred("end", now)
			apply(ctx, t, m, a, now, end)
			now := now.Add(test.evaluated)
			events := []*orchv1.ReceivedEvent{occurred("start", now.Add(-test.evaluated))}
			if test.repeated {
				events = append(events, end)
			}
			apply(ctx, t, m, a, now, events...)
			require.Equal(t, test.fires, apply(ctx, t, m, a, now.Add(2*time.Hour)))
		})
	}
}
