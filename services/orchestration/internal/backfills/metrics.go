package backfills

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/telemetry"
)

// metrics counts the flow runs that backfills create.
type metrics struct{ created prometheus.Counter }

func newMetrics(registry prometheus.Registerer) *metrics {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	return &metrics{created: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orch_backfill_runs_created_total", Help: "Flow runs that backfills created.",
	}))}
}
