package flowruns

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
	// maxOrigins bounds the values of the labels of runs in one process: a metric has so many series for each state.
	maxOrigins = 200
	// labelOther is the value of the labels of further runs.
	labelOther = "other"
	// maxLabel bounds a value, in bytes.
	maxLabel = 100
)

// waitBuckets are the bounds of waiting times, in seconds.
var waitBuckets = []float64{0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 900, 3600, 4 * 3600}

// origin is where runs belong: the values of their labels.
type origin struct{ deployment, pool, queue string }

// runMetrics counts the states of flow runs that this process writes, and measures how long runs wait.
type runMetrics struct {
	states   *prometheus.CounterVec
	skipped  *prometheus.CounterVec
	lateness *prometheus.HistogramVec
	waiting  *prometheus.HistogramVec

	mu      sync.Mutex
	origins map[origin]bool
}

func newRunMetrics(registry prometheus.Registerer) *runMetrics {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	labels := []string{"deployment", "work_pool", "work_queue"}
	return &runMetrics{
		origins: map[origin]bool{},
		states: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_flow_run_states_total", Help: "States of flow runs that this process wrote, by type.",
		}, append([]string{"state"}, labels...))),
		skipped: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_flow_runs_skipped_total", Help: "Flow runs that were skipped because they had not started by their deadlines.",
		}, labels)),
		lateness: telemetry.Register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orch_flow_run_lateness_seconds", Help: "Time from the expected start of a flow run, or from its creation if that is later, to its first RUNNING state.", Buckets: waitBuckets,
		}, labels)),
		waiting: telemetry.Register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orch_flow_run_waiting_seconds", Help: "Time from the scheduled time of a flow run to its PENDING state, when a worker claims it.", Buckets: waitBuckets,
		}, labels)),
	}
}

// observe records a written state.
func (m *runMetrics) observe(t *rules.Transition, resources related) {
	run := t.Run
	o := m.bounded(origin{deploymentLabel(run, resources), short(run.GetWorkPoolName()), short(run.GetWorkQueueName())})
	state := run.GetState()
	m.states.WithLabelValues(rules.StateName(state.GetType()), o.deployment, o.pool, o.queue).Inc()
	switch state.GetType() {
	case orchv1.StateType_STATE_TYPE_CANCELLED:
		if state.GetName() == rules.NameSkipped {
			m.skipped.WithLabelValues(o.deployment, o.pool, o.queue).Inc()
		}
	case orchv1.StateType_STATE_TYPE_RUNNING:
		if run.GetRunCount() == 1 && run.ExpectedStartTime != nil {
			from := run.GetExpectedStartTime().AsTime()
			if created := run.GetCreated().AsTime(); created.After(from) {
				from = created
			}
			m.lateness.WithLabelValues(o.deployment, o.pool, o.queue).Observe(since(from, t.Now))
		}
	case orchv1.StateType_STATE_TYPE_PENDING:
		if at := t.Initial.GetStateDetails().GetScheduledTime(); at != nil && t.Initial.GetType() == orchv1.StateType_STATE_TYPE_SCHEDULED {
			m.waiting.WithLabelValues(o.deployment, o.pool, o.queue).Observe(since(at.AsTime(), t.Now))
		}
	}
}

// since is a duration in seconds, 0 for a time of the future.
func since(at, now time.Time) float64 { return max(now.Sub(at), 0).Seconds() }

// deploymentLabel is the name of a run's flow and deployment, as clients write it; empty for a run without a deployment.
func deploymentLabel(run *orchv1.FlowRun, resources related) string {
	if run.DeploymentId == nil {
		return ""
	}
	return short(resources.flow.name + "/" + resources.deployment.name)
}

// bounded returns the labels of an origin, or those of all further origins.
func (m *runMetrics) bounded(o origin) origin {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.origins[o] {
		return o
	}
	if len(m.origins) >= maxOrigins {
		return origin{labelOther, labelOther, labelOther}
	}
	m.origins[o] = true
	return o
}

// short returns a label value of bounded length.
func short(text string) string {
	if len(text) > maxLabel {
		text = text[:maxLabel]
	}
	return strings.ToValidUTF8(text, "")
}
