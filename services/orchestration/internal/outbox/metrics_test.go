package outbox_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// An increase from nothing is none for Prometheus, so the counters of all kinds exist from the start.
func TestDeadLettersAreCountedFromZero(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	mux := outbox.NewMux()
	require.NoError(t, mux.Handle(outbox.Handler{Kind: "test", Run: r.handle}))
	registry := prometheus.NewRegistry()
	relay := outbox.New(outbox.Config{Handlers: mux, Metrics: registry, Log: slog.New(slog.DiscardHandler)})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, relay.Run(ended))

	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "orch_dead_letters_total" {
			require.Len(t, f.GetMetric(), 1)
			require.Equal(t, "test", f.GetMetric()[0].GetLabel()[0].GetValue())
			require.Zero(t, f.GetMetric()[0].GetCounter().GetValue())
			return
		}
	}
	t.Fatal("no counter")
}

// TestSamplerMeasuresInOneReplica: one replica publishes the backlog, the others publish 0. A collection that cannot be measured is
// counted, and does not hide the others.
func TestSamplerMeasuresInOneReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.effect("test", "pending"))
	gauges := func(registry *prometheus.Registry) map[string]float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		values := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				values[f.GetName()] = m.GetGauge().GetValue()
			}
		}
		return values
	}
	var registries []*prometheus.Registry
	for range 2 {
		registry := prometheus.NewRegistry()
		registries = append(registries, registry)
		relay := w.relayWith(handlers{}, nil, func(c *outbox.Config) {
			c.Metrics, c.Collections = registry, []query.Collection{"", query.Flow}
		})
		runningWorker(t, outbox.Sampler{Relay: relay})
		if len(registries) == 1 {
			require.Eventually(t, func() bool { return gauges(registry)["orch_outbox_pending"] == 1 }, time.Minute, time.Millisecond)
		}
	}
	first := gauges(registries[0])
	require.Positive(t, first["orch_outbox_oldest_seconds"])
	require.InDelta(t, 1, first["orch_outbox_unmeasured_collections"], 0)
	require.Zero(t, gauges(registries[1])["orch_outbox_pending"])
	require.Zero(t, gauges(registries[1])["orch_outbox_unmeasured_collections"])
}
