package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// Metrics count what the engine does.
type Metrics struct {
	events  prometheus.Counter
	firings prometheus.Counter
	limited *prometheus.CounterVec
	delay   prometheus.Histogram
	timers  prometheus.Gauge
	backlog prometheus.Gauge
	// fullest is how full the fullest backlog of a workspace is.
	fullest prometheus.Gauge
	// quarantined is the number of workspaces in quarantine.
	quarantined prometheus.Gauge
	Actions     *prometheus.CounterVec
}

// NewMetrics returns metrics that count from 0.
func NewMetrics() *Metrics {
	m := &Metrics{
		events:  prometheus.NewCounter(prometheus.CounterOpts{Name: "orch_automations_events_total", Help: "Events that were evaluated."}),
		firings: prometheus.NewCounter(prometheus.CounterOpts{Name: "orch_automations_firings_total", Help: "Firings of automations."}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_automations_limited_total", Help: "Firings, for_each keys and events beyond a limit, which cause nothing, by limit.",
		}, []string{"limit"}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "orch_automations_firing_delay_seconds", Help: "Time from the reason of a firing to its commit.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		timers: prometheus.NewGauge(prometheus.GaugeOpts{Name: "orch_automations_timers", Help: "Open windows that the clock ends."}),
		backlog: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orch_automations_backlog_events", Help: "Events that wait for the next turn of their workspace.",
		}),
		fullest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orch_automations_backlog_fullest_ratio",
			Help: "How full the fullest backlog of a workspace is: at 1 further events of the workspace are not evaluated.",
		}),
		quarantined: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orch_automations_quarantined_workspaces", Help: "Workspaces whose automations cannot be evaluated, so their events wait.",
		}),
		Actions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "orch_automations_actions_total", Help: "Actions by type and outcome."}, []string{"type", "outcome"}),
	}
	for _, limit := range []string{limitFirings, limitAccountFirings, limitKeys, limitChain, limitChained, limitBacklog} {
		m.limited.WithLabelValues(limit)
	}
	return m
}

// emitted counts firings whose effects are committed.
func (m *Metrics) emitted(firings []trigger.RootFiring, now time.Time) {
	m.firings.Add(float64(len(firings)))
	for _, f := range firings {
		m.delay.Observe(now.Sub(time.UnixMicro(due(f.Firing))).Seconds())
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, ch) }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{m.events, m.firings, m.limited, m.delay, m.timers, m.backlog, m.fullest, m.quarantined, m.Actions} {
		c.Collect(ch)
	}
}
