package tracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

// Settings configure traces beside the OTEL_ variables.
type Settings struct {
	File string `env:"ORCH_TRACE_FILE" desc:"A file that gets every span as a line of JSON, beside or without an OpenTelemetry collector (OTEL_EXPORTER_OTLP_ENDPOINT)."`
}

// Process describes the process that records.
type Process struct {
	// Name is the service's name unless OTEL_SERVICE_NAME is set.
	Name, Version string
	// Getenv reads the OTEL_ variables; nil means os.Getenv. The SDK reads those of sampler and batches by itself.
	Getenv func(string) string
	// Log gets failures to export. Default slog.Default().
	Log *slog.Logger
}

// Provider records spans and exports them. Nil is off.
type Provider struct {
	sdk *sdktrace.TracerProvider
}

// ErrSettings reports an OTEL_ variable with an unknown value.
var ErrSettings = errors.New("configure traces")

// Open returns a provider, or nil when neither the settings nor the OTEL_ variables turn traces on. OTEL_TRACES_EXPORTER
// (otlp or none), OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT turn them on; OTEL_SDK_DISABLED
// turns them off. The caller closes the provider. Source: the OpenTelemetry specification, environment variables.
func Open(ctx context.Context, s Settings, p Process) (*Provider, error) {
	if p.Getenv == nil {
		p.Getenv = os.Getenv
	}
	disabled, _ := strconv.ParseBool(p.Getenv("OTEL_SDK_DISABLED"))
	if disabled {
		return nil, nil
	}
	exporter, err := otlpExporter(ctx, p.Getenv)
	if err != nil {
		return nil, err
	}
	if exporter == nil && s.File == "" {
		return nil, nil
	}
	described, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", p.Name), attribute.String("service.version", p.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("%w: OTEL_RESOURCE_ATTRIBUTES: %w", ErrSettings, err)
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
	otel.SetErrorHandler(exportErrors(cmp.Or(p.Log, slog.Default()))) // The SDK has no other way to report them.
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
func otlpExporter(ctx context.Context, getenv func(string) string) (sdktrace.SpanExporter, error) {
	endpoint := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	switch chosen := getenv("OTEL_TRACES_EXPORTER"); {
	case chosen == "none", chosen == "" && endpoint == "":
		return nil, nil
	case chosen != "" && chosen != "otlp":
		return nil, fmt.Errorf("%w: OTEL_TRACES_EXPORTER %q: must be otlp or none", ErrSettings, chosen)
	}
	protocol := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	var exporter sdktrace.SpanExporter
	var err error
	switch protocol {
	case "grpc":
		exporter, err = otlptracegrpc.New(ctx)
	case "http/protobuf":
		exporter, err = otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf("%w: OTEL_EXPORTER_OTLP_PROTOCOL %q: must be grpc or http/protobuf", ErrSettings, protocol)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: OTEL_EXPORTER_OTLP_ENDPOINT %q: %w", ErrSettings, endpoint, err)
	}
	return exporter, nil
}

// exportErrors logs failures to export, one a minute: a collector that is away fails every batch.
func exportErrors(log *slog.Logger) otel.ErrorHandler {
	limit := &rate.Sometimes{First: 1, Interval: time.Minute}
	return otel.ErrorHandlerFunc(func(err error) {
		limit.Do(func() { log.Warn("failed to export spans", "error", strings.TrimSpace(err.Error())) })
	})
}
