package orchestration

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// outageLog is the handler of the log of background work. Everything fails while the database or the broker is away, and would say so
// again and again. Of each outage of the database it passes the first failure and its end; the others become debug lines.
//
//	available ──first failure: logged──► away ──command succeeds: "database is available again"──► available
//	                                      └── other failures: debug
//
// The connection to the broker logs its outages itself, so failures during them are debug lines.
type outageLog struct {
	slog.Handler
	outage *storeOutage
	broker *broker.Conn
}

// storeOutage is the state of the database as the log has it.
type storeOutage struct {
	log   *slog.Logger
	since atomic.Pointer[time.Time] // nil while the database is available.
}

func newOutageLog(log *slog.Logger, conn *broker.Conn) *outageLog {
	return &outageLog{Handler: log.Handler(), outage: &storeOutage{log: log}, broker: conn}
}

// available ends an outage. The store calls it after each command that succeeds.
func (o *storeOutage) available() {
	since := o.since.Load()
	if since != nil && o.since.CompareAndSwap(since, nil) {
		o.log.Info("database is available again", "after", time.Since(*since).Round(time.Millisecond))
	}
}

// begin reports whether an outage begins.
func (o *storeOutage) begin() bool {
	now := time.Now()
	return o.since.CompareAndSwap(nil, &now)
}

// Handle implements slog.Handler.
func (h *outageLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && h.repeated(failureOf(r)) {
		r.Level = slog.LevelDebug
		if !h.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

// repeated reports whether the log has the outage that caused a failure.
func (h *outageLog) repeated(failure error) bool {
	switch {
	case errors.Is(failure, store.ErrUnavailable):
		return !h.outage.begin()
	case errors.Is(failure, broker.ErrUnavailable):
		return h.broker != nil && h.broker.Healthy() != nil
	}
	return false
}

// failureOf is the error of a log line; nil without one.
func failureOf(r slog.Record) (failure error) {
	r.Attrs(func(a slog.Attr) bool {
		failure, _ = a.Value.Any().(error)
		return failure == nil
	})
	return failure
}

// WithAttrs implements slog.Handler.
func (h *outageLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &outageLog{Handler: h.Handler.WithAttrs(attrs), outage: h.outage, broker: h.broker}
}

// WithGroup implements slog.Handler.
func (h *outageLog) WithGroup(name string) slog.Handler {
	return &outageLog{Handler: h.Handler.WithGroup(name), outage: h.outage, broker: h.broker}
}
