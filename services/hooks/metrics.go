package hooks

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/hooks/internal/deliveries"
)

// metrics are what is measured. No label says which webhook: their number is not bounded.
type metrics struct {
	requests   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	acks       prometheus.Histogram
	refusals   *prometheus.CounterVec
	quota      prometheus.Counter
	unknown    prometheus.Counter
	disabled   prometheus.Counter
	duplicates prometheus.Counter
	filtered   prometheus.Counter
	overloads  prometheus.Counter
	// unlogged counts deliveries that are missing in the delivery log.
	unlogged prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	missing := telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "orch_hooks_not_found_total",
		Help: "Requests for webhooks that do not exist (unknown) or are switched off (disabled).",
	}, []string{"reason"}))
	return &metrics{
		requests: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_hooks_requests_total",
			Help: "Webhook requests, by the status of the answer.",
		}, []string{"code"})),
		duration: telemetry.Register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "orch_hooks_request_duration_seconds",
			Help:    "Duration of webhook requests, by the status of the response.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2},
		}, []string{"code"})),
		acks: telemetry.Register[prometheus.Histogram](registry, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "orch_hooks_ack_duration_seconds",
			Help:    "Time until the broker acknowledged an event.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2},
		})),
		duplicates: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orch_hooks_duplicates_total",
			Help: "Duplicate deliveries, which made no event.",
		})),
		filtered: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orch_hooks_filtered_total",
			Help: "Requests that a webhook's filter dropped, which made no event.",
		})),
		overloads: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orch_hooks_overloads_total",
			Help: "Requests that got 503 because the memory for bodies, or the account's half of it, was in use.",
		})),
		unlogged: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orch_hooks_unlogged_deliveries_total",
			Help: "Deliveries that are not in the delivery log, because too many came at once or the broker was away.",
		})),
		refusals: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orch_hooks_refusals_total",
			Help: "Requests that a webhook refused, by reason: method, credential, role, body, signature, address or rate.",
		}, []string{"reason"})),
		quota:    quota.NewRefusals(registry).WithLabelValues(string(quota.EventsPerSecond)),
		unknown:  missing.WithLabelValues("unknown"),
		disabled: missing.WithLabelValues("disabled"),
	}
}

func (m *metrics) notFound(disabled bool) {
	if disabled {
		m.disabled.Inc()
	} else {
		m.unknown.Inc()
	}
}

// measure counts a decision and logs it. Neither the path nor the header is logged: both may hold secrets.
func (h *Hooks) measure(d *delivery, end decision, took time.Duration) {
	ctx, code := d.r.Context(), strconv.Itoa(end.status)
	h.metrics.requests.WithLabelValues(code).Inc()
	telemetry.Observe(ctx, h.metrics.duration.WithLabelValues(code), took.Seconds())
	h.log.LogAttrs(ctx, slog.LevelDebug, "webhook request",
		slog.String("webhook_id", d.hook.GetId()),
		slog.Int("status", end.status),
		slog.Duration("took", took),
	)
}

// logEntry is the entry of a delivery in the webhook's delivery log; nil for a request to no webhook.
func (d *delivery) logEntry(end decision, took time.Duration) *deliveries.LogEntry {
	if d.request == nil {
		return nil
	}
	entry := &deliveries.LogEntry{
		ID: d.ids.New(), Hook: d.hook, Request: d.request, Status: end.status, Took: took, Outcome: end.outcome,
	}
	if d.from.IsValid() {
		entry.From = d.from.String()
	}
	return entry
}

// registerBuffer registers the gauge of a buffer of the delivery log.
func registerBuffer(registry prometheus.Registerer, recorder *deliveries.Recorder) {
	telemetry.Register(registry, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "orch_hooks_delivery_log_buffer_ratio", Help: "How full the buffer of the delivery log is: at 1 deliveries are not logged.",
	}, recorder.Fill))
}
