// Package otlp reads the variables of the OpenTelemetry specification that the exports of traces and of metrics share.
package otlp

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
	"go.opentelemetry.io/otel/sdk/resource"
	"golang.org/x/time/rate"
)

// Process describes the process that exports.
type Process struct {
	// Name is the service's name unless OTEL_SERVICE_NAME is set.
	Name, Version string
	// Getenv reads the OTEL_ variables; nil means os.Getenv. The SDK reads endpoints, headers, sampler and intervals by itself.
	Getenv func(string) string
	// Log gets failures to export. Default slog.Default().
	Log *slog.Logger
}

// ErrSettings reports an OTEL_ variable with an unknown value.
var ErrSettings = errors.New("configure OpenTelemetry")

// The protocols of exports.
const (
	GRPC = "grpc"
	HTTP = "http/protobuf"
)

func (p Process) getenv(name string) string {
	if p.Getenv == nil {
		return os.Getenv(name)
	}
	return p.Getenv(name)
}

// Disabled reports whether OTEL_SDK_DISABLED turns all exports off.
func (p Process) Disabled() bool {
	disabled, _ := strconv.ParseBool(p.getenv("OTEL_SDK_DISABLED"))
	return disabled
}

// Protocol returns the protocol by which a signal, TRACES or METRICS, is exported; empty if it is not. OTEL_<signal>_EXPORTER (otlp or
// none), OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_<signal>_ENDPOINT turn the export on.
func (p Process) Protocol(signal string) (string, error) {
	endpoint := cmp.Or(p.getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"), p.getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	switch chosen := p.getenv("OTEL_" + signal + "_EXPORTER"); {
	case p.Disabled(), chosen == "none", chosen == "" && endpoint == "":
		return "", nil
	case chosen != "" && chosen != "otlp":
		return "", fmt.Errorf("%w: OTEL_%s_EXPORTER %q: must be otlp or none", ErrSettings, signal, chosen)
	}
	protocol := cmp.Or(p.getenv("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL"), p.getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), HTTP)
	if protocol != GRPC && protocol != HTTP {
		return "", fmt.Errorf("%w: OTEL_EXPORTER_OTLP_PROTOCOL %q: must be %s or %s", ErrSettings, protocol, GRPC, HTTP)
	}
	return protocol, nil
}

// Resource returns the attributes of the process.
func (p Process) Resource(ctx context.Context) (*resource.Resource, error) {
	described, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", p.Name), attribute.String("service.version", p.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("%w: OTEL_RESOURCE_ATTRIBUTES: %w", ErrSettings, err)
	}
	return described, nil
}

// LogErrors logs failures to export, one a minute: a collector that is away fails every export. The SDK has no other way to report them.
func (p Process) LogErrors() {
	log, limit := cmp.Or(p.Log, slog.Default()), &rate.Sometimes{First: 1, Interval: time.Minute}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		limit.Do(func() { log.Warn("failed to export telemetry", "error", strings.TrimSpace(err.Error())) })
	}))
}
