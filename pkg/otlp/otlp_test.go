package otlp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestProtocol(t *testing.T) {
	t.Parallel()
	const endpoint = "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		environment   map[string]string
		want, refused string
	}{
		"nothing set":            {},
		"an endpoint":            {environment: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, want: HTTP},
		"an endpoint of traces":  {environment: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}},
		"an endpoint of metrics": {environment: map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": endpoint}, want: HTTP},
		"the default endpoint":   {environment: map[string]string{"OTEL_METRICS_EXPORTER": "otlp"}, want: HTTP},
		"a protocol":             {environment: map[string]string{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, want: GRPC},
		"a protocol of the signal": {
			environment: map[string]string{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf"}, want: HTTP,
		},
		"no exporter":      {environment: map[string]string{"OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}},
		"disabled":         {environment: map[string]string{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}},
		"unknown exporter": {environment: map[string]string{"OTEL_METRICS_EXPORTER": "statsd"}, refused: `OTEL_METRICS_EXPORTER "statsd": must be otlp or none`},
		"unknown protocol": {
			environment: map[string]string{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, refused: `OTEL_EXPORTER_OTLP_PROTOCOL "http/json"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocol, err := Process{Getenv: func(name string) string { return c.environment[name] }}.Protocol("METRICS")
			if c.refused != "" {
				require.ErrorIs(t, err, ErrSettings)
				require.ErrorContains(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, protocol)
		})
	}
}
