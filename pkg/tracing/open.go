package tracing

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/orch-project/orch/pkg/otlp"
)

// Settings configure traces beside the OTEL_ variables.
type Settings struct {
	File string `env:"ORCH_TRACE_FILE" desc:"A file that gets every span as a line of JSON, beside or without an OpenTelemetry collector (OTEL_EXPORTER_OTLP_ENDPOINT)."`
}

// Provider records spans and exports them. Nil is off.
type Provider struct {
	sdk *sdktrace.TracerProvider
}

// Open returns a provider, or nil when neither the settings nor the OTEL_ variables turn traces on. OTEL_TRACES_EXPORTER
// (otlp or none), OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT turn them on; OTEL_SDK_DISABLED
// turns them off. The caller closes the provider. Source: the OpenTelemetry specification, environment variables.
func Open(ctx context.Context, s Settings, p otlp.Process) (*Provider, error) {
	if p.Disabled() {
		return nil, nil
	}
	exporter, err := otlpExporter(ctx, p)
	if err != nil {
		return nil, err
	}
	if exporter == nil && s.File == "" {
		return nil, nil
	}
	described, err := p.Resource(ctx)
	if err != nil {
		return nil, err
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(described)}
	if exporter != nil {
		options = append(options, sdktrace.WithBatcher(exporter))
	}
	if s.File != "" {
		file, err := openFile(s.File)
		if err != nil {
			return nil, err
		}
		options = append(options, sdktrace.WithSyncer(file))
	}
	p.LogErrors()
	return &Provider{sdk: sdktrace.NewTracerProvider(options...)}, nil
}

// Tracer returns the tracer of a component; nil for a nil provider.
func (p *Provider) Tracer(component string) *Tracer {
	if p == nil {
		return nil
	}
	return Component(p.sdk, component)
}

// closeTimeout bounds the export of the last spans.
const closeTimeout = 5 * time.Second

// Close exports what is recorded and ends the export.
func (p *Provider) Close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := p.sdk.Shutdown(ctx); err != nil {
		return fmt.Errorf("export the last spans: %w", err)
	}
	return nil
}

// otlpExporter returns the exporter that the variables choose, or nil.
func otlpExporter(ctx context.Context, p otlp.Process) (sdktrace.SpanExporter, error) {
	protocol, err := p.Protocol("TRACES")
	if err != nil || protocol == "" {
		return nil, err
	}
	var exporter sdktrace.SpanExporter
	if protocol == otlp.GRPC {
		exporter, err = otlptracegrpc.New(ctx)
	} else {
		exporter, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: export traces: %w", otlp.ErrSettings, err)
	}
	return exporter, nil
}
