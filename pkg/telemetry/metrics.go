package telemetry

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry returns a registry with the metrics of the process, of the Go runtime, and orch_build_info.
func NewRegistry(service, version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "orch_build_info",
		Help:        "Always 1; the labels tell what runs.",
		ConstLabels: prometheus.Labels{"service": service, "version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		build,
	)
	return registry
}

// Register registers a collector and returns it. It returns the existing collector with the same name and labels if
// there is one, because two services of one process may share a metric.
func Register[C prometheus.Collector](registry prometheus.Registerer, collector C) C {
	if err := registry.Register(collector); err != nil {
		if existing, ok := err.(prometheus.AlreadyRegisteredError); ok { //nolint:errorlint // Never wrapped.
			if same, ok := existing.ExistingCollector.(C); ok {
				return same
			}
		}
		panic(err) // Two different metrics with one name are a bug that the first start reveals.
	}
	return collector
}
