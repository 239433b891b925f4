package store

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/orch-project/orch/pkg/telemetry"
)

// metrics of the database's client.
type metrics struct {
	duration *prometheus.HistogramVec
	failures *prometheus.CounterVec
	leases   *prometheus.GaugeVec
	// available is called after each command that succeeded, unless it is nil.
	available func()
}

func newMetrics(registry prometheus.Registerer, building *incomplete) *metrics {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	telemetry.Register(registry, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "orch_store_index_builds_pending",
		Help: "Collections whose indexes this replica waits for.",
	}, func() float64 { return float64(len(building.list())) }))
	return &metrics{
		duration: telemetry.Register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "orch_store_command_duration_seconds",
			Help:    "Duration of the database's commands that succeeded, by command.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"command"})),
		failures: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_store_command_failures_total",
			Help: "Commands of the database that failed, by command.",
		}, []string{"command"})),
		leases: telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "orch_lease_held",
			Help: "1 while this replica holds the lease, else 0.",
		}, []string{"lease"})),
	}
}

// monitor measures commands. The next monitor, which may be nil, sees them too.
func (m *metrics) monitor(next *event.CommandMonitor) *event.CommandMonitor {
	if next == nil {
		next = &event.CommandMonitor{
			Succeeded: func(context.Context, *event.CommandSucceededEvent) {}, Failed: func(context.Context, *event.CommandFailedEvent) {},
		}
	}
	return &event.CommandMonitor{
		Started: next.Started,
		Succeeded: func(ctx context.Context, e *event.CommandSucceededEvent) {
			m.succeeded(ctx, e.CommandName, e.Duration)
			next.Succeeded(ctx, e)
		},
		Failed: func(ctx context.Context, e *event.CommandFailedEvent) {
			m.failed(e.CommandName)
			next.Failed(ctx, e)
		},
	}
}

// succeeded records a command that succeeded.
func (m *metrics) succeeded(ctx context.Context, command string, took time.Duration) {
	telemetry.Observe(ctx, m.duration.WithLabelValues(command), took.Seconds())
	if m.available != nil {
		m.available()
	}
}

// failed records a command that failed.
func (m *metrics) failed(command string) { m.failures.WithLabelValues(command).Inc() }

// held records whether this replica holds a lease.
func (m *metrics) held(lease string, held bool) {
	value := 0.0
	if held {
		value = 1
	}
	m.leases.WithLabelValues(lease).Set(value)
}
