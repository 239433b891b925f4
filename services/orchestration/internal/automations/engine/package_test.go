package engine

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestCounterCountsPerWindow(t *testing.T) {
	t.Parallel()
	c, a, b := NewCounter(time.Minute), uuid.New(), uuid.New()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want := 1; want <= 3; want++ {
		require.Equal(t, want, c.Add(a, at))
	}
	require.Equal(t, 1, c.Add(b, at.Add(59*time.Second)))
	c.Undo(a, at)
	require.Equal(t, 3, c.Add(a, at))
	require.Equal(t, 1, c.Add(a, at.Add(time.Minute)), "a window of its own")
	c.Undo(a, at)
	require.Equal(t, 2, c.Add(a, at.Add(time.Minute)), "a past window is over")
}

func TestChainDepthCountsAutomationsInARow(t *testing.T) {
	t.Parallel()
	v := vocabulary.Orch
	reason := func(name string, labels map[string]string) *orchv1.AutomationFiring {
		return &orchv1.AutomationFiring{Event: &orchv1.ReceivedEvent{Event: name, Resource: &orchv1.Resource{Labels: labels}}}
	}
	for name, test := range map[string]struct {
		firing *orchv1.AutomationFiring
		depth  int
	}{
		"silence":               {&orchv1.AutomationFiring{}, 1},
		"another event":         {reason("order.paid", map[string]string{"orch.automation.chain-depth": "7"}), 1},
		"an automation changed": {reason("orch.automation.updated", nil), 1},
		"an automation fired":   {reason("orch.automation.triggered", nil), 2},
		"an action":             {reason("orch.automation.action.failed", nil), 2},
		"third":                 {reason("orch.automation.triggered", map[string]string{"orch.automation.chain-depth": "2"}), 3},
		"child": {&orchv1.AutomationFiring{Children: []*orchv1.AutomationFiring{
			reason("orch.automation.triggered", map[string]string{"orch.automation.chain-depth": "4"}),
		}}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.depth, ChainDepth(v, test.firing), name)
		})
	}
}

// backtest evaluates a trigger, written as JSON, over events at seconds after a time.
func backtest(t *testing.T, text string, limit int, seconds ...int) BacktestResult {
	t.Helper()
	create := &orchv1.AutomationCreate{}
	require.NoError(t, restjson.Unmarshal([]byte(`{"name":"a","actions":[],"trigger":`+text+`}`), create))
	create.GetTrigger().GetEvent().Id = uuid.NewString()
	compiled, err := trigger.Compile(uuid.New(), &orchv1.Automation{Id: uuid.NewString(), Enabled: true, Trigger: create.GetTrigger()}, vocabulary.Orch)
	require.NoError(t, err)
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	until := since.Add(time.Minute)
	b, err := NewBacktest(t.Context(), vocabulary.Orch, compiled, since, until, limit)
	require.NoError(t, err)
	for _, at := range seconds {
		more, err := b.Event(t.Context(), &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Event: "go", Occurred: timestamppb.New(since.Add(time.Duration(at) * time.Second)),
			Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "all"}},
		})
		require.NoError(t, err)
		if !more {
			break
		}
	}
	result, err := b.Finish(t.Context(), until)
	require.NoError(t, err)
	return result
}

func TestBacktestEndsWindowsAtTheirTimes(t *testing.T) {
	t.Parallel()
	silence := `{"type":"event","posture":"Proactive","expect":["go"],"within":20}`
	found := backtest(t, silence, 100, 5, 45)
	require.Len(t, found.Firings, 1)
	require.Equal(t, time.Date(2026, 3, 1, 12, 0, 40, 0, time.UTC).UnixMicro(), found.Firings[0].Firing.GetTriggered())
	require.EqualValues(t, 2, found.Matched)
	require.Empty(t, found.StoppedBy)

	found = backtest(t, silence, 2)
	require.Len(t, found.Firings, 2)
	require.Equal(t, "limit", found.StoppedBy)
	require.Equal(t, time.Date(2026, 3, 1, 12, 0, 40, 0, time.UTC), found.Until.UTC())

	found = backtest(t, `{"type":"event","posture":"Reactive","expect":["go"],"threshold":2,"within":30}`, 100, 1, 2, 3, 50)
	require.Len(t, found.Firings, 1, "what occurs before the end of the fired window is lost")
}
