package outbox

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// metrics of the relay.
type metrics struct {
	pending     prometheus.Gauge
	oldest      prometheus.Gauge
	failed      prometheus.Gauge
	suspended   *prometheus.GaugeVec
	deadLetters *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) metrics {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	return metrics{
		pending: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orch_outbox_pending", Help: "Documents whose outboxes hold effects, at most 11,000 of each collection; 0 in replicas that do not measure it.",
		})),
		oldest: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orch_outbox_oldest_seconds", Help: "Age of the oldest effect in an outbox; 0 in replicas that do not measure it.",
		})),
		failed: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orch_outbox_unmeasured_collections", Help: "Collections whose outboxes the last measurement could not read.",
		})),
		suspended: telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "orch_outbox_suspended", Help: "1 while effects of a kind wait for the end of an outage, else 0.",
		}, []string{"kind"})),
		deadLetters: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_dead_letters_total", Help: "Effects that this process moved to the dead letters, by kind.",
		}, []string{"kind"})),
	}
}

const (
	// sampleEvery is the sampling interval of the gauges.
	sampleEvery = 15 * time.Second
	// samplerLease names the lease of the replica that samples, and samplerTerm is how long it lasts without renewal.
	samplerLease = "outbox sampler"
	samplerTerm  = 2*sampleEvery + 10*time.Second
)

// Backlog counts the documents whose outboxes hold effects, up to a bound for each collection, and returns the age of the oldest
// effect. With an error the results are those of the other collections.
func (r *Relay) Backlog(ctx context.Context) (pending int64, oldest time.Duration, err error) {
	pending, oldest, _, err = r.backlog(ctx)
	return pending, oldest, err
}

func (r *Relay) backlog(ctx context.Context) (pending int64, oldest time.Duration, failed int, err error) {
	now := r.store.Now()
	_, err = r.eachCollection(ctx, func(collection query.Collection) (bool, error) {
		n, at, err := r.store.Backlog(ctx, collection)
		pending += n
		if !at.IsZero() {
			oldest = max(oldest, now.Sub(at))
		}
		if err != nil {
			failed++
		}
		return false, err
	})
	return pending, oldest, failed, err
}

// Sampler measures the outboxes for the metrics, in one of the replicas.
type Sampler struct{ Relay *Relay }

// Name implements run.Worker.
func (s Sampler) Name() string { return "outbox sampler" }

// Run samples until the context ends.
func (s Sampler) Run(ctx context.Context) error {
	lease := leader.NewLease(s.Relay.store, samplerLease, samplerTerm)
	defer func() {
		if err := lease.Release(ctx); err != nil {
			s.Relay.log.DebugContext(ctx, "failed to release the lease of the outbox sampler, which expires", "error", err)
		}
	}()
	for {
		held, err := lease.Acquire(ctx)
		pending, oldest, failed := int64(0), time.Duration(0), 0
		switch {
		case err != nil:
			failed = len(s.Relay.collections)
		case held:
			pending, oldest, failed, err = s.Relay.backlog(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			s.Relay.log.WarnContext(ctx, "failed to measure some outboxes", "error", err)
		}
		s.Relay.metrics.pending.Set(float64(pending))
		s.Relay.metrics.oldest.Set(oldest.Seconds())
		s.Relay.metrics.failed.Set(float64(failed))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sampleEvery):
		}
	}
}
