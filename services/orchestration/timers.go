package orchestration

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/workpools"
)

// Timers say how often background tasks run; 0 turns a task off.
type Timers struct {
	Scheduler           time.Duration `env:"ORCH_SCHEDULER_EVERY" envDefault:"500ms" desc:"The polling interval of the scheduler, which creates the runs of schedules; 0 turns it off."`
	Backfills           time.Duration `env:"ORCH_BACKFILLS_EVERY" envDefault:"1s" desc:"The polling interval for backfills whose runs have ended; 0 turns it off, and backfills create no runs."`
	PauseExpirations    time.Duration `env:"ORCH_PAUSE_EXPIRATIONS_EVERY" envDefault:"5s" desc:"The polling interval for expired pauses of runs; 0 turns it off."`
	LateRuns            time.Duration `env:"ORCH_LATE_RUNS_EVERY" envDefault:"5s" desc:"The polling interval for late runs; 0 turns it off."`
	Foreman             time.Duration `env:"ORCH_FOREMAN_EVERY" envDefault:"15s" desc:"The polling interval for workers, work pools, work queues and deployments without heartbeats or polls; 0 turns it off."`
	RunMonitor          time.Duration `env:"ORCH_RUN_MONITOR_EVERY" envDefault:"15s" desc:"The polling interval for runs without heartbeats, and for runs that stay in PENDING; 0 turns it off."`
	CancellationCleanup time.Duration `env:"ORCH_CANCELLATION_CLEANUP_EVERY" envDefault:"20s" desc:"The polling interval for cancelled runs with running task runs or subflow runs, and for cancellations that do not end; 0 turns it off."`
	WebhookWatcher      time.Duration `env:"ORCH_WEBHOOK_WATCHER_EVERY" envDefault:"10s" desc:"The polling interval for webhooks that recovered or became silent; 0 turns it off."`
	Repossessor         time.Duration `env:"ORCH_REPOSSESSOR_EVERY" envDefault:"10s" desc:"The polling interval for expired leases of concurrency slots; 0 turns it off, and leaked slots stay taken."`
	Reencryption        time.Duration `env:"ORCH_REENCRYPTION_EVERY" envDefault:"10m" desc:"The interval of the passes that encrypt secrets with the first key, while there is more than one; 0 turns it off."`
	HourTotals          time.Duration `env:"ORCH_HOUR_TOTALS_EVERY" envDefault:"1m" desc:"The interval of the passes that count the runs and events of past hours; 0 turns it off, and counts of many documents become slow."`
	Retention           time.Duration `env:"ORCH_RETENTION_EVERY" envDefault:"10s" desc:"The interval of the passes that delete what the retention policies of workspaces select; 0 turns it off."`
	QuotaUsage          time.Duration `env:"ORCH_QUOTA_MEASURE_EVERY" envDefault:"1m" desc:"The interval of the passes that measure the stored bytes of accounts with a quota of them; 0 turns them off."`
}

// validate refuses negative periods.
func (t Timers) validate() error {
	if min(t.Scheduler, t.Backfills, t.PauseExpirations, t.LateRuns, t.Foreman, t.RunMonitor, t.CancellationCleanup, t.WebhookWatcher, t.Repossessor, t.Retention, t.QuotaUsage, t.Reencryption, t.HourTotals) < 0 {
		return errors.New("ORCH_SCHEDULER_EVERY, ORCH_BACKFILLS_EVERY, ORCH_PAUSE_EXPIRATIONS_EVERY, ORCH_LATE_RUNS_EVERY, ORCH_FOREMAN_EVERY, ORCH_RUN_MONITOR_EVERY, ORCH_CANCELLATION_CLEANUP_EVERY, ORCH_WEBHOOK_WATCHER_EVERY, ORCH_REPOSSESSOR_EVERY, ORCH_RETENTION_EVERY, ORCH_QUOTA_MEASURE_EVERY, ORCH_REENCRYPTION_EVERY, ORCH_HOUR_TOTALS_EVERY: must not be negative")
	}
	return nil
}

// namesEvery is the interval of the passes that complete the dictionary of names after an upgrade.
const namesEvery = time.Minute

// eventTypesEvery is the interval of the passes that delete event types without events.
const eventTypesEvery = 10 * time.Minute

// task is one pass of a background task. It returns how many documents it changed.
type task func(context.Context) (changed int, err error)

// timers are the workers that run background tasks: the repossessor in every replica, each other one in one at a time.
func (o *Orchestration) timers(every Timers) []run.Worker {
	var workers []run.Worker
	foreman := workpools.NewForeman(o.pools, every.Foreman)
	for _, timer := range []struct {
		name  string
		every time.Duration
		do    task
	}{
		{"scheduler", every.Scheduler, o.scheduler.Pass},
		{"backfills", every.Backfills, o.backfills.Pass},
		{"pause expirations", every.PauseExpirations, o.runs.ExpirePauses},
		{"late runs", every.LateRuns, o.runs.MarkLate},
		{"foreman", every.Foreman, func(ctx context.Context) (int, error) { return 0, foreman.Pass(ctx) }},
		{"run monitor", every.RunMonitor, o.runMonitor.Pass},
		{"cancellation clean-up", every.CancellationCleanup, o.runs.CleanUpCancellations},
		{"webhook watcher", every.WebhookWatcher, o.webhooks.Watch},
		{"hour totals", every.HourTotals, o.hours.Pass},
		{"names of runs", namesEvery, o.store.FillNames},
		{"retention", every.Retention, o.retention.Pass},
		{"event types", eventTypesEvery, o.eventTypes.Expire},
		{"quota usage", every.QuotaUsage, o.quotas.Measure},
		{"re-encryption", every.Reencryption, o.reencryption.Pass},
	} {
		if timer.every > 0 {
			workers = append(workers, leader.NewTask(o.store, timer.name, timer.every, o.log, o.background.observe(timer.name, o.log, timer.do)))
		}
	}
	if every.Repossessor > 0 {
		workers = append(workers, concurrency.Repossessor{
			Every: every.Repossessor, Do: o.background.observe("repossessor", o.log, o.limits.Repossess), Log: o.log,
		})
	}
	return workers
}

// backgroundMetrics are what is measured of background tasks.
type backgroundMetrics struct {
	duration *prometheus.HistogramVec
	changes  *prometheus.CounterVec
	failures *prometheus.CounterVec
}

func newBackgroundMetrics(registry prometheus.Registerer) *backgroundMetrics {
	return &backgroundMetrics{
		duration: telemetry.Register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orch_background_task_duration_seconds", Help: "Duration of a pass of a background task.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 15},
		}, []string{"task"})),
		changes: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_background_task_changes_total", Help: "Documents that a background task changed.",
		}, []string{"task"})),
		failures: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_background_task_failures_total", Help: "Passes of a background task that failed.",
		}, []string{"task"})),
	}
}

// observe measures the passes of a task, and logs those that changed something.
func (m *backgroundMetrics) observe(name string, log *slog.Logger, do task) func(context.Context) error {
	m.changes.WithLabelValues(name)  // At 0 before the first one, so that an alert sees it as an increase.
	m.failures.WithLabelValues(name) // The same.
	return func(ctx context.Context) error {
		began := time.Now()
		changed, err := do(ctx)
		took := time.Since(began)
		m.duration.WithLabelValues(name).Observe(took.Seconds())
		m.changes.WithLabelValues(name).Add(float64(changed))
		if err != nil {
			m.failures.WithLabelValues(name).Inc()
		}
		if changed > 0 {
			log.InfoContext(ctx, "background task changed documents", "task", name, "changed", changed, "took", took)
		}
		return err
	}
}
