package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// metricOf returns the trigger of an automation that watches the successes of all flow runs.
func metricOf(t *testing.T, ws uuid.UUID) *trigger.Node {
	t.Helper()
	a, err := trigger.Compile(ws, &orchv1.Automation{
		Id: uuid.NewString(), Enabled: true, Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Metric{Metric: &orchv1.MetricTrigger{
			Id: uuid.NewString(), Metric: &orchv1.MetricTriggerQuery{Range: durationpb.New(5 * time.Minute)},
		}}},
	}, vocabulary.Orch)
	require.NoError(t, err)
	require.Len(t, a.Metrics, 1)
	return a.Metrics[0]
}

// record stores an event of a resource, some seconds after noon.
func (c *crowd) record(ws uuid.UUID, name, resource string, seconds int) {
	c.Helper()
	require.NoError(c, c.Engine.events.Insert(c.Context(), ws, &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: name, Occurred: timestamppb.New(noon.Add(time.Duration(seconds) * time.Second)),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": resource}},
	}))
}

// A metric reads the events of flow runs alone. Task runs have many times as many.
func TestAMetricReadsStateEvents(t *testing.T) {
	t.Parallel()
	c, ws, run := newCrowd(t), uuid.New(), uuid.New()
	tenant := c.evaluator(ws)
	n := metricOf(t, ws)
	read := func() []trigger.RunEvent {
		events, err := tenant.runEvents(t.Context(), n, noon)
		require.NoError(t, err)
		return events
	}
	task := func() { c.record(ws, "orch.task-run.Completed", "orch.task-run."+uuid.NewString(), 2) }
	task()
	require.Empty(t, read())
	resource := "orch.flow-run." + run.String()
	c.record(ws, "orch.flow-run.Running", resource, 3)
	c.record(ws, "orch.flow-run.Pending", resource, 1)
	c.record(ws, "orch.flow-run.Pending", resource, -1) // Before the range.
	c.record(ws, "orch.flow-run.Pending", "another resource", 1)
	c.record(uuid.New(), "orch.flow-run.Failed", resource, 2)
	task()
	at := func(seconds int64) int64 { return noon.UnixMicro() + seconds*time.Second.Microseconds() }
	want := []trigger.RunEvent{{Run: run, State: "Pending", At: at(1)}, {Run: run, State: "Running", At: at(3)}}
	require.Equal(t, want, read())
	filter, err := tenant.stateEvents(t.Context())
	require.NoError(t, err)
	require.Equal(t, bson.D{{Key: "event", Value: bson.D{{Key: "$in", Value: []string{"orch.flow-run.Pending", "orch.flow-run.Running"}}}}}, filter)

	for i := range maxStateNames {
		c.record(ws, fmt.Sprintf("orch.flow-run.Invented %d", i), resource, -1)
	}
	filter, err = tenant.stateEvents(t.Context())
	require.NoError(t, err)
	require.Empty(t, filter)
	require.Equal(t, want, read())
}

// The state events of one computation are bounded in bytes: their names may be long.
func TestSamplesOfAMetricAreBounded(t *testing.T) {
	t.Parallel()
	c, ws := newCrowd(t), uuid.New()
	tenant, n := c.evaluator(ws), metricOf(t, ws)
	name, resource := "orch.flow-run."+strings.Repeat("x", 20_000), "orch.flow-run."+uuid.NewString()
	second := 0
	var sampled int
	testkit.FillBound(t, "state events that a metric reads", maxSampleBytes+len(name), func() bool {
		for range 50 {
			second++
			c.record(ws, name, resource, second)
		}
		events, err := tenant.runEvents(t.Context(), n, noon)
		require.NoError(t, err)
		sampled = len(events)
		return sampled < second
	}, func() int { return sampled * len(name) })
}
