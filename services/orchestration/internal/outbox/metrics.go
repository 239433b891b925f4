package outbox

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/telemetry"
)

// metrics of the relay.
type metrics struct {
	pending     prometheus.Gauge
	oldest      prometheus.Gauge
	deadLetters *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) metrics {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	return metrics{
		pending: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orch_outbox_pending", Help: "Documents whose outboxes hold effects.",
		})),
		oldest: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orch_outbox_oldest_seconds", Help: "Age of the oldest effect in an outbox.",
		})),
		deadLetters: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_dead_letters_total", Help: "Effects that this process moved to the dead letters, by kind.",
		}, []string{"kind"})),
	}
}

// sampleEvery is the sampling interval of the gauges.
const sampleEvery = 15 * time.Second

// Backlog counts the documents whose outboxes hold effects, and returns the age of the oldest effect.
func (r *Relay) Backlog(ctx context.Context) (pending int64, oldest time.Duration, err error) {
	now := r.store.Now()
	for _, collection := range r.collections {
		n, at, err := r.store.Backlog(ctx, collection)
		if err != nil {
			return 0, 0, err
		}
		pending += n
		if !at.IsZero() {
			oldest = max(oldest, now.Sub(at))
		}
	}
	return pending, oldest, nil
}

// Sampler measures the outboxes for the metrics.
type Sampler struct{ Relay *Relay }

// Name implements run.Worker.
func (s Sampler) Name() string { return "outbox sampler" }

// Run samples until the context ends.
func (s Sampler) Run(ctx context.Context) error {
	for {
		pending, oldest, err := s.Relay.Backlog(ctx)
		switch {
		case err == nil:
			s.Relay.metrics.pending.Set(float64(pending))
			s.Relay.metrics.oldest.Set(oldest.Seconds())
		case ctx.Err() == nil:
			s.Relay.log.WarnContext(ctx, "measure the outboxes", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sampleEvery):
		}
	}
}
