package outbox_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/outbox"
)

// An increase from nothing is none for Prometheus, so the counters of all kinds exist from the start.
func TestDeadLettersAreCountedFromZero(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	mux := outbox.NewMux()
	require.NoError(t, mux.Handle(outbox.Handlers{"test": r.handle}))
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
