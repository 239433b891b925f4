package telemetry_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/otlp"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
)

// collector is an OpenTelemetry collector that keeps the metrics of the last export by name.
func collector(t *testing.T) (address string, metrics func() map[string]*metricsv1.Metric) {
	t.Helper()
	var mu sync.Mutex
	got := map[string]*metricsv1.Metric{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		var export collectorv1.ExportMetricsServiceRequest
		if err != nil || r.URL.Path != "/v1/metrics" || proto.Unmarshal(body, &export) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, resource := range export.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, metric := range scope.GetMetrics() {
					got[metric.GetName()] = metric
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() map[string]*metricsv1.Metric {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// The series of the internal address are exported with their labels and values, the last time when the process ends.
func TestMetricsAreExported(t *testing.T) {
	address, metrics := collector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
	registry := telemetry.NewRegistry("test", "1")
	states := telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "orch_flow_run_states_total", Help: "States of flow runs."}, []string{"state"}))
	waiting := telemetry.Register(registry, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "orch_flow_run_waiting_seconds", Help: "Time that flow runs wait.", Buckets: []float64{1, 2},
	}))
	group := run.NewGroup(run.Options{})
	require.NoError(t, telemetry.Export(t.Context(), group, registry, otlp.Process{Name: "test", Version: "1"}))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	group.Add(run.Func("work", func(ctx context.Context) error {
		states.WithLabelValues("RUNNING").Add(3)
		waiting.Observe(1.5)
		end()
		<-ctx.Done()
		return nil
	}))
	go func() { ended <- group.Run(ctx) }()
	require.NoError(t, <-ended)

	counted := metrics()["orch_flow_run_states_total"].GetSum()
	require.True(t, counted.GetIsMonotonic())
	require.Len(t, counted.GetDataPoints(), 1)
	require.InDelta(t, 3, counted.GetDataPoints()[0].GetAsDouble(), 0)
	require.Equal(t, "RUNNING", counted.GetDataPoints()[0].GetAttributes()[0].GetValue().GetStringValue())
	histogram := metrics()["orch_flow_run_waiting_seconds"].GetHistogram().GetDataPoints()
	require.Len(t, histogram, 1)
	require.Equal(t, []float64{1, 2}, histogram[0].GetExplicitBounds())
	require.Equal(t, []uint64{0, 1, 0}, histogram[0].GetBucketCounts())
	require.Contains(t, metrics(), "orch_build_info")
}

func TestNothingIsExportedByDefault(t *testing.T) {
	t.Parallel()
	unset := otlp.Process{Name: "test", Getenv: func(string) string { return "" }}
	require.NoError(t, telemetry.Export(t.Context(), nil, telemetry.NewRegistry("test", "1"), unset), "the group gets no worker")
}
