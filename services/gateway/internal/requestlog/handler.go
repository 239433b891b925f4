package requestlog

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Options are the settings of Handler.
type Options struct {
	Log      *slog.Logger
	Registry prometheus.Registerer
	// Slow is the duration above which a request is logged at level info.
	Slow time.Duration
	// Vocabulary decides which clients get a hint that they expect another vocabulary.
	Vocabulary vocabulary.Vocabulary
	// Tracer begins a trace for each request, or continues the client's; nil is off.
	Tracer *tracing.Tracer
}

// routeReady is the readiness route. Probes poll it while a server starts or stops, so its 503 is not worth a log line.
const routeReady = "/ready"

// observer is the outermost handler.
type observer struct {
	opts          Options
	next          http.Handler
	metrics       *metrics
	ids           *id.Source
	foreignLogged atomic.Bool // A client with the other vocabulary was logged.
}

// Handler logs and measures the requests that next serves.
func Handler(opts Options, next http.Handler) http.Handler {
	return &observer{opts: opts, next: next, metrics: newMetrics(opts.Registry), ids: id.System()}
}

// ServeHTTP implements http.Handler.
func (o *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rec := &record{ResponseWriter: w, id: r.Header.Get(headerID), route: "other"}
	if !validRequestID(rec.id) {
		rec.id = o.ids.New().String()
	}
	w.Header().Set(headerID, rec.id)
	o.metrics.inFlight.Inc()
	rec.upgraded = func() {
		o.metrics.inFlight.Dec()
		o.metrics.sockets.WithLabelValues(rec.route).Inc()
	}
	ctx, span := o.opts.Tracer.Serve(r.Context(), "request", tracing.FromHeader(r.Header))
	if span.IsRecording() {
		r = r.WithContext(ctx)
	}
	defer func() {
		if rec.status == http.StatusSwitchingProtocols {
			o.metrics.sockets.WithLabelValues(rec.route).Dec()
		} else {
			o.metrics.inFlight.Dec()
		}
		p := recover()
		if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // net/http compares this value by identity.
			o.metrics.panics.Inc()
			o.opts.Log.ErrorContext(r.Context(), "a request panicked",
				"request_id", rec.id, "route", rec.route, "panic", p, "stack", string(debug.Stack()))
			rec.apologize()
		}
		o.finish(r, rec, time.Since(start))
		tracing.EndRequest(span, r.Method, rec.route, cmp.Or(rec.status, http.StatusOK))
		if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares this value by identity.
			panic(p) // net/http closes the connection, as the handler intends.
		}
	}()
	o.logForeignAgent(r)
	o.next.ServeHTTP(rec, r)
}

// apologize responds with 500 for a handler that panicked before it wrote a response.
func (r *record) apologize() {
	if r.status != 0 {
		panic(http.ErrAbortHandler) // A truncated response must not look complete.
	}
	r.Header().Set("Content-Type", "application/json")
	r.Header().Del("Content-Length")
	r.WriteHeader(http.StatusInternalServerError)
	_, _ = r.Write([]byte(`{"exception_message":"Internal Server Error"}`)) // An error means that the client has disconnected.
}

func (o *observer) finish(r *http.Request, rec *record, took time.Duration) {
	status := rec.status
	if status == 0 {
		status = http.StatusOK
	}
	upgraded := status == http.StatusSwitchingProtocols // Its duration is that of the open socket.
	if !upgraded {
		telemetry.Observe(r.Context(), o.metrics.duration.WithLabelValues(rec.route, methodLabel(r.Method), codeLabel(status)), took.Seconds())
	}
	level := slog.LevelDebug
	if status >= http.StatusInternalServerError && rec.route != routeReady || took >= o.opts.Slow && !upgraded {
		level = slog.LevelInfo
	}
	o.opts.Log.LogAttrs(r.Context(), level, "request",
		slog.String("request_id", rec.id),
		slog.String("method", methodLabel(r.Method)),
		slog.String("route", rec.route),
		slog.Int("status", status),
		slog.Duration("took", took),
		slog.Int64("bytes", rec.bytes),
	)
}

// logForeignAgent logs once how to start the server for clients that expect the other vocabulary.
func (o *observer) logForeignAgent(r *http.Request) {
	if o.opts.Vocabulary.ForeignAgent(r.UserAgent()) && o.foreignLogged.CompareAndSwap(false, true) {
		o.opts.Log.WarnContext(r.Context(), "a client expects another vocabulary; start the server with that vocabulary",
			"vocabulary", o.opts.Vocabulary.String(),
			"start_with", "orch server --vocabulary "+vocabulary.Prefect.String())
	}
}
