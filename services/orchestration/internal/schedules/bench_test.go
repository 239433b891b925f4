package schedules_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/schedules"
)

// BenchmarkPass measures the first pass over many deployments, and the passes of an hour later. ORCH_BENCH_DEPLOYMENTS says
// how many there are; the default is 10,000.
func BenchmarkPass(b *testing.B) {
	many := 10_000
	if text := os.Getenv("ORCH_BENCH_DEPLOYMENTS"); text != "" {
		var err error
		many, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	for b.Loop() {
		b.StopTimer()
		w := newWorld(b)
		s := w.scheduler(w.store, schedules.DefaultLimits)
		for i := range many {
			w.deployment(fmt.Sprint("d", i), cron(fmt.Sprintf("%d * * * *", i%60), "Europe/Berlin"))
		}
		b.StartTimer()
		began := time.Now()
		n, err := s.Pass(b.Context())
		require.NoError(b, err)
		require.Equal(b, many, n)
		b.ReportMetric(time.Since(began).Seconds(), "s/first-pass")
		began = time.Now()
		w.relay(s, w.store)
		b.ReportMetric(time.Since(began).Seconds(), "s/first-insert")
		w.clock.Advance(time.Hour)
		began = time.Now()
		n, err = s.Pass(b.Context())
		require.NoError(b, err)
		b.ReportMetric(time.Since(began).Seconds(), "s/next-pass")
		b.ReportMetric(float64(n), "deployments")
	}
}
