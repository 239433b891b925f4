package liveness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestActiveRunsAreCountedByThePass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.running(2)
	w.create() // A run without a state is pending.
	w.pass()
	registry := prometheus.NewRegistry()
	registry.MustRegister(w.monitor.active)
	expected := `
# HELP orch_flow_runs_active Pending flow runs, and those that a process executes; one replica counts them.
# TYPE orch_flow_runs_active gauge
orch_flow_runs_active{state="PENDING",work_pool="",work_queue=""} 1
orch_flow_runs_active{state="RUNNING",work_pool="",work_queue=""} 2
`
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(expected)))
	w.monitor.active.counted = time.Now().Add(-staleAfter*every - time.Second)
	require.Zero(t, testutil.CollectAndCount(w.monitor.active), "another replica makes the passes")
}

func TestSeriesOfActiveRunsAreBounded(t *testing.T) {
	t.Parallel()
	counts := map[activeLabels]int{}
	for i := range 3 * maxSeries {
		count(counts, &orchv1.FlowRun{
			WorkPoolName: new(fmt.Sprintf("%d%s", i, strings.Repeat("ü", maxLabel))), State: &orchv1.State{Type: running},
		})
	}
	require.Len(t, counts, maxSeries+1)
	require.Equal(t, 2*maxSeries, counts[activeLabels{"RUNNING", labelOther, labelOther}])
	for labels := range counts {
		require.LessOrEqual(t, len(labels.pool), maxLabel)
	}
}
