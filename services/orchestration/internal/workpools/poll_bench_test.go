package workpools

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkPollOfALongQueue polls a queue with the due runs of ten deployments. The runs of one of them wait for a slot.
func BenchmarkPollOfALongQueue(b *testing.B) {
	const runs, deployments, limit = 50_000, 10, 20
	w := newWorld(b)
	w.pool("p")
	queue := w.queue("p", "q", 1)
	w.due(queue, w.deployment(1, 1), "full", runs/deployments, time.Hour, 0)
	for range deployments {
		w.due(queue, w.deployment(0, 0), "free", runs/deployments, time.Hour, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		polled, err := w.pollBefore("p", w.clock.Now(), limit)
		require.NoError(b, err)
		require.Len(b, polled, limit)
	}
}
