package schedules

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/telemetry"
)

// metrics are what is measured. No label names a deployment: their number is not bounded.
type metrics struct {
	created  prometheus.Counter
	unusable prometheus.Counter
	passes   prometheus.Histogram
}

func newMetrics(registry prometheus.Registerer) *metrics {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	return &metrics{
		created: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orch_scheduler_runs_created_total", Help: "Flow runs that the scheduler created.",
		})),
		unusable: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orch_scheduler_schedules_skipped_total", Help: "Examinations of schedules that have no times.",
		})),
		passes: telemetry.Register[prometheus.Histogram](registry, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "orch_scheduler_pass_duration_seconds", Help: "Duration of a pass of the scheduler.",
			Buckets: []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60},
		})),
	}
}
