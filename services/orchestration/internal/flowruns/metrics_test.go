package flowruns

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

func TestMetricsOfRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	w.service.metrics = newRunMetrics(registry)
	run := w.run(func(c *orchv1.FlowRunCreate) {
		c.State = &orchv1.StateCreate{Type: scheduled, StateDetails: &orchv1.StateDetails{ScheduledTime: timestamppb.New(w.clock.Now().Add(time.Minute))}}
	})
	w.clock.Advance(time.Minute + 7*time.Second)
	w.set(run, &orchv1.StateCreate{Type: pending})
	w.clock.Advance(10 * time.Second)
	w.set(run, &orchv1.StateCreate{Type: running})
	w.set(run, &orchv1.StateCreate{Type: failed})
	w.set(run, &orchv1.StateCreate{Type: running}) // Another attempt is not late once more.

	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP orch_flow_run_states_total States of flow runs that this process wrote, by type.
# TYPE orch_flow_run_states_total counter
orch_flow_run_states_total{deployment="",state="FAILED",work_pool="",work_queue=""} 1
orch_flow_run_states_total{deployment="",state="PENDING",work_pool="",work_queue=""} 1
orch_flow_run_states_total{deployment="",state="RUNNING",work_pool="",work_queue=""} 2
`), "orch_flow_run_states_total"))
	families, err := registry.Gather()
	require.NoError(t, err)
	sums := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if h := metric.GetHistogram(); h != nil {
				require.EqualValues(t, 1, h.GetSampleCount(), family.GetName())
				sums[family.GetName()] = h.GetSampleSum()
			}
		}
	}
	require.Equal(t, map[string]float64{"orch_flow_run_lateness_seconds": 17, "orch_flow_run_waiting_seconds": 7}, sums)
}

// Any number of deployments, pools and queues has a bounded number of series, and no name is longer than a label may be.
func TestMetricsOfRunsAreBounded(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := newRunMetrics(registry)
	for i := range 3 * maxOrigins {
		name := fmt.Sprintf("%d%s", i, strings.Repeat("ü", 200))
		run := &orchv1.FlowRun{
			DeploymentId: new(uuid.NewString()), WorkPoolName: &name, WorkQueueName: &name,
			State: &orchv1.State{Type: running}, ExpectedStartTime: timestamppb.Now(), RunCount: 1,
		}
		m.observe(&rules.Transition{Run: run}, related{flow: relatedResource{name: name}, deployment: relatedResource{name: name}})
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	for _, family := range families {
		require.LessOrEqual(t, len(family.GetMetric()), maxOrigins+1)
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				require.LessOrEqual(t, len(label.GetValue()), maxLabel)
			}
		}
	}
	require.Equal(t, 2*maxOrigins, int(testutil.ToFloat64(m.states.WithLabelValues("RUNNING", labelOther, labelOther, labelOther))))
}
