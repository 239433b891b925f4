package requestlog

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Options are what Handler needs.
type Options struct {
	Log      *slog.Logger
	Registry prometheus.Registerer
	// Slow is the time from which on a request is worth a line at info.
	Slow time.Duration
	// Vocabulary decides which clients are told that they expect another one.
	Vocabulary vocabulary.Vocabulary
}

// routeReady is where probes ask, over and over, while a server that starts or ends is not ready, as it should.
const routeReady = "/ready"

// observer is the outermost handler.
type observer struct {
	opts    Options
	next    http.Handler
	metrics *metrics
	ids     *id.Source
	told    atomic.Bool // A client with the other vocabulary has been seen.
}

// Handler watches the requests that next answers.
func Handler(opts Options, next http.Handler) http.Handler {
	return &observer{opts: opts, next: next, metrics: newMetrics(opts.Registry), ids: id.System()}
}

// ServeHTTP implements http.Handler.
func (o *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rec := &record{ResponseWriter: w, id: r.Header.Get(headerID), route: "other"}
	if !sane(rec.id) {
		rec.id = o.ids.New().String()
	}
	w.Header().Set(headerID, rec.id)
	o.metrics.inFlight.Inc()
	rec.upgraded = func() {
		o.metrics.inFlight.Dec()
		o.metrics.sockets.WithLabelValues(rec.route).Inc()
	}
	defer func() {
		if rec.status == http.StatusSwitchingProtocols {
			o.metrics.sockets.WithLabelValues(rec.route).Dec()
		} else {
			o.metrics.inFlight.Dec()
		}
		p := recover()
		if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // The very value.
			o.metrics.panics.Inc()
			o.opts.Log.ErrorContext(r.Context(), "a request panicked",
				"request_id", rec.id, "route", rec.route, "panic", p, "stack", string(debug.Stack()))
			rec.apologize()
		}
		o.finish(r, rec, time.Since(start))
		if p == http.ErrAbortHandler { //nolint:errorlint // The very value.
			panic(p) // net/http closes the connection, as the handler wants.
		}
	}()
	o.tell(r)
	o.next.ServeHTTP(rec, r)
}

// apologize answers a request whose handler panicked, unless it had begun to.
func (r *record) apologize() {
	if r.status != 0 {
		panic(http.ErrAbortHandler) // Half an answer must not look whole.
	}
	r.Header().Set("Content-Type", "application/json")
	r.Header().Del("Content-Length")
	r.WriteHeader(http.StatusInternalServerError)
	_, _ = r.Write([]byte(`{"exception_message":"Internal Server Error"}`)) // The client has gone.
}

func (o *observer) finish(r *http.Request, rec *record, took time.Duration) {
	status := rec.status
	if status == 0 {
		status = http.StatusOK
	}
	upgraded := status == http.StatusSwitchingProtocols // It took as long as the socket was open.
	if !upgraded {
		o.metrics.duration.WithLabelValues(rec.route, methodLabel(r.Method), codeLabel(status)).Observe(took.Seconds())
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

// tell says once how the server must be started for clients that expect the other vocabulary.
func (o *observer) tell(r *http.Request) {
	if o.opts.Vocabulary.ForeignAgent(r.UserAgent()) && o.told.CompareAndSwap(false, true) {
		o.opts.Log.WarnContext(r.Context(), "a client expects another vocabulary; for such clients start the server with it",
			"vocabulary", o.opts.Vocabulary.String(),
			"start_with", "orch server --vocabulary "+vocabulary.Prefect.String())
	}
}
