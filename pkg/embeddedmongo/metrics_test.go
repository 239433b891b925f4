package embeddedmongo_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// samples are the values of a registry's metrics without labels, by name.
func samples(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		require.Len(t, f.GetMetric(), 1)
		values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
	}
	return values
}

func TestMetricsShowCompactions(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	server, client := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(embeddedmongo.NewMetrics(server))
	before := samples(t, registry)
	require.Len(t, before, 12)
	require.Zero(t, before["orch_embedded_store_write_stalls_total"])

	for range 2 { // A compaction merges what two flushes wrote.
		for i := range 100 {
			_, err := client.Database("d").Collection("c").ReplaceOne(ctx, bson.D{{Key: "_id", Value: i}},
				bson.D{{Key: "text", Value: "some text"}}, options.Replace().SetUpsert(true))
			require.NoError(t, err)
		}
		require.NoError(t, embeddedmongo.Compact(server))
	}
	after := samples(t, registry)
	for _, grown := range []string{
		"orch_embedded_store_compactions_total", "orch_embedded_store_compaction_seconds_total",
		"orch_embedded_store_compacted_bytes_total", "orch_embedded_store_disk_bytes", "orch_embedded_store_read_amplification",
		"orch_embedded_store_written_keys_total", "orch_embedded_store_log_bytes_total",
	} {
		require.Greater(t, after[grown], before[grown], grown)
	}
	require.Zero(t, after["orch_embedded_store_compactions_in_progress"])
}
