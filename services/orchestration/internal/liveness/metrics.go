package liveness

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/telemetry"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

const (
	// maxSeries bounds the series of the runs that are active; further pools and queues are counted together.
	maxSeries = 500
	// labelOther is the label of their pool and queue.
	labelOther = "other"
	// maxLabel bounds a value of a label, in bytes.
	maxLabel = 100
)

// activeLabels are the labels of runs that are active.
type activeLabels struct{ state, pool, queue string }

// activeRuns is the number of runs by state, pool and queue, as the last pass has read them. A scrape reads no documents.
type activeRuns struct {
	desc *prometheus.Desc
	// stale is the age of counts at which another replica has taken over the passes.
	stale time.Duration

	mu      sync.Mutex
	counts  map[activeLabels]int
	counted time.Time
}

func newActiveRuns(registry prometheus.Registerer, stale time.Duration) *activeRuns {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	return telemetry.Register(registry, &activeRuns{
		desc: prometheus.NewDesc("orch_flow_runs_active",
			"Pending flow runs, and those that a process executes; one replica counts them.", []string{"state", "work_pool", "work_queue"}, nil),
		stale: stale,
	})
}

// count counts a run. Beyond the bound it counts with the other runs of its state.
func count(counts map[activeLabels]int, run *orchv1.FlowRun) {
	labels := activeLabels{rules.StateName(run.GetState().GetType()), short(run.GetWorkPoolName()), short(run.GetWorkQueueName())}
	if _, known := counts[labels]; !known && len(counts) >= maxSeries {
		labels.pool, labels.queue = labelOther, labelOther
	}
	counts[labels]++
}

// short returns the value of a label.
func short(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxLabel)], "") }

// set replaces the counts by those of a pass.
func (a *activeRuns) set(counts map[activeLabels]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts, a.counted = counts, time.Now()
}

// Describe implements prometheus.Collector.
func (a *activeRuns) Describe(descs chan<- *prometheus.Desc) { descs <- a.desc }

// Collect implements prometheus.Collector.
func (a *activeRuns) Collect(metrics chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.counted) > a.stale {
		return
	}
	for labels, n := range a.counts {
		metrics <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, float64(n), labels.state, labels.pool, labels.queue)
	}
}
