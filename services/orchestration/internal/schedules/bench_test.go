package schedules_test

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/schedules"
)

const (
	// maxPass is how long a pass may take with 10,000 deployments.
	maxPass = 2 * time.Second
	// maxShare is which share of one processor the scheduler may use in any window.
	maxShare = 0.2
	window   = 10 * time.Second
	// passEvery is the period of passes while there is a backlog.
	passEvery = 500 * time.Millisecond
)

// BenchmarkPass measures the scheduling of many deployments that are all due in the same minute: the passes over all of
// them as new ones, and those of the following hour of simulated time. It fails when a pass takes longer than 2 s. It also
// fails when scheduler and database use more than 20 % of a processor in any 10 s. ORCH_BENCH_DEPLOYMENTS sets their number;
// the default is 10,000.
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
		m := &meter{world: w, scheduler: w.scheduler(w.store, schedules.DefaultLimits)}
		for i := range many {
			w.deployment(fmt.Sprint("d", i), cron("0 * * * *", "Europe/Berlin"))
		}
		b.StartTimer()
		began := w.clock.Now()
		for m.scheduled < many {
			m.step(passEvery)
		}
		b.ReportMetric(w.clock.Now().Sub(began).Seconds(), "s/backlog")
		m.report(b, "new")
		m.clock.Set(began.Add(time.Hour).Truncate(time.Hour)) // The minute in which all of them are due.
		m.scheduled = 0
		for end := w.clock.Now().Add(time.Hour); w.clock.Now().Before(end); {
			m.step(time.Second)
		}
		require.GreaterOrEqual(b, m.scheduled, many)
		m.report(b, "hour")
	}
}

// meter measures passes and what they cause.
type meter struct {
	*world
	scheduler *schedules.Scheduler
	scheduled int

	longest         time.Duration // A pass.
	begins          time.Time     // Of the current window.
	busy, worstBusy time.Duration // Processor time of the current window, and of the one with most.
}

func (m *meter) step(every time.Duration) {
	before := processorTime(m)
	began := time.Now()
	n, err := m.scheduler.Pass(m.Context())
	require.NoError(m, err)
	m.longest = max(m.longest, time.Since(began))
	m.scheduled += n
	if n > 0 {
		m.relay(m.scheduler, m.store)
	}
	m.busy += processorTime(m) - before
	m.worstBusy = max(m.worstBusy, m.busy)
	m.clock.Advance(every)
	if m.clock.Now().Sub(m.begins) >= window {
		m.begins, m.busy = m.clock.Now(), 0
	}
}

func (m *meter) report(b *testing.B, phase string) {
	b.Helper()
	fraction := m.worstBusy.Seconds() / window.Seconds()
	b.ReportMetric(m.longest.Seconds(), "s/pass-"+phase)
	b.ReportMetric(100*fraction, "%busiest-"+phase)
	if m.longest > maxPass {
		b.Errorf("%s: a pass takes %s, more than %s", phase, m.longest, maxPass)
	}
	if fraction > maxShare {
		b.Errorf("%s: %.0f %% of a processor within %s, more than %.0f %%", phase, 100*fraction, window, 100*maxShare)
	}
	m.longest, m.begins, m.busy, m.worstBusy = 0, time.Time{}, 0, 0
}

// processorTime is what this process has used.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
