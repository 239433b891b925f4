package telemetry

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/orch-project/orch/pkg/otlp"
	"github.com/orch-project/orch/pkg/run"
)

// lastExportTimeout bounds the export at the end of a process.
const lastExportTimeout = 5 * time.Second

// Export adds a worker to the group that exports the metrics of a registry to an OpenTelemetry collector, if the OTEL_ variables turn that
// on. OTEL_METRIC_EXPORT_INTERVAL is the interval of the exports in milliseconds, a minute by default. Source: the OpenTelemetry
// specification, environment variables.
func Export(ctx context.Context, group *run.Group, registry prometheus.Gatherer, p otlp.Process) error {
	protocol, err := p.Protocol("METRICS")
	if err != nil || protocol == "" {
		return err
	}
	described, err := p.Resource(ctx)
	if err != nil {
		return err
	}
	var exporter sdkmetric.Exporter
	if protocol == otlp.GRPC {
		exporter, err = otlpmetricgrpc.New(ctx)
	} else {
		exporter, err = otlpmetrichttp.New(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: export metrics: %w", otlp.ErrSettings, err)
	}
	p.LogErrors()
	group.Add(run.Func("export of metrics", func(ctx context.Context) error {
		series := bridge.NewMetricProducer(bridge.WithGatherer(registry))
		reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(series))
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(described))
		<-ctx.Done()
		last, cancel := context.WithTimeout(run.Grace(ctx), lastExportTimeout)
		defer cancel()
		if err := provider.Shutdown(last); err != nil {
			otel.Handle(fmt.Errorf("export the last metrics: %w", err))
		}
		return nil
	}))
	return nil
}
