package retention

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/telemetry"
)

// metrics of the service, by kind.
type metrics struct {
	deleted *prometheus.CounterVec
	backlog *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer) metrics {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	return metrics{
		deleted: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_retention_deleted_total", Help: "Documents that retention deleted, without dependents of runs.",
		}, []string{"kind"})),
		backlog: telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "orch_retention_unfinished_rules", Help: "Rules whose expired documents the last pass did not all delete.",
		}, []string{"kind"})),
	}
}
