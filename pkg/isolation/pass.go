package isolation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/telemetry"
)

const (
	// maxOutages is how many items in a row may meet an outage before a pass ends.
	maxOutages = 3
	// maxReported bounds the failures that a pass logs and returns one by one. It counts the others.
	maxReported = 10
)

// Recorder logs and counts the failures of passes.
type Recorder struct {
	log      *slog.Logger
	failures *prometheus.CounterVec
}

// New returns a recorder, which registers its counter.
func New(log *slog.Logger, registry prometheus.Registerer) *Recorder {
	return &Recorder{log: log, failures: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "orch_isolated_failures_total",
		Help: "Workspaces and documents that background work failed for, while it went on with the others.",
	}, []string{"pass"}))}
}

// Begin begins a pass. The name says what it does, as in "failed to NAME".
func (r *Recorder) Begin(ctx context.Context, name string) *Pass {
	return &Pass{ctx: ctx, recorder: r, name: name}
}

// Pass is one run over tenants or documents. It is safe for concurrent use.
//
//	pass := recorder.Begin(ctx, "mark workers offline")
//	for _, w := range workers {
//		if pass.Record(s.markOffline(ctx, w), "worker", w.ID) != nil {
//			break
//		}
//	}
//	return pass.Err()
type Pass struct {
	ctx      context.Context // Of the whole pass: its end ends the pass.
	recorder *Recorder
	name     string

	mu       sync.Mutex
	failures int
	reported []error // The first failures.
	outages  int     // The last items in a row that met an outage.
	outage   error   // The first outage that an item met.
}

// Record records the result of the work on one item; attrs identify the item in the log. It returns an error only if the pass
// ends: the context has ended, or the last items met an outage.
func (p *Pass) Record(err error, attrs ...any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ctx.Err() != nil:
		return p.end()
	case err == nil:
		p.outages = 0
	case IsOutage(err):
		p.outages++
		if p.outage == nil {
			p.outage = err
		}
		return p.end()
	default:
		p.fail(err, attrs)
	}
	return nil
}

func (p *Pass) fail(err error, attrs []any) {
	p.outages = 0 // The services responded.
	p.recorder.failures.WithLabelValues(p.name).Inc()
	if p.failures++; p.failures > maxReported {
		return
	}
	p.reported = append(p.reported, err)
	p.recorder.log.With(attrs...).WarnContext(p.ctx, "failed to process one item, the others go on", "task", p.name, "error", err)
}

func (p *Pass) end() error {
	switch {
	case p.ctx.Err() != nil:
		return fmt.Errorf("%s: %w", p.name, p.ctx.Err())
	case p.outages >= maxOutages:
		return fmt.Errorf("%s: %w", p.name, p.outage)
	}
	return nil
}

// Failures is the number of items that failed.
func (p *Pass) Failures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures
}

// Outage returns why the pass is incomplete: its context ended, or items met an outage. A consumer returns it, so that its batch is
// redelivered: another attempt helps after an outage, and not after a failure.
func (p *Pass) Outage() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.end(); err != nil || p.outage == nil {
		return err
	}
	return fmt.Errorf("%s: %w", p.name, p.outage)
}

// Err returns Outage and the failures, which were logged.
func (p *Pass) Err() error {
	err := p.Outage()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures > 0 {
		err = errors.Join(err, fmt.Errorf("%s: %d items failed, among them: %w", p.name, p.failures, errors.Join(p.reported...)))
	}
	return err
}
