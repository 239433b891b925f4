// Package leader runs a periodic task in one of many replicas.
//
//	replica A   take ──► task ─ renew ─ task ─ renew ──✗ (gone)
//	replica B   refused … refused … refused … … … … … … take ──► task
//	                                            └ 15 s ┘
//
// A lease only saves work: two replicas whose clocks differ may execute a task at the same time. Every task must
// therefore be correct when executed twice concurrently: by compare-and-set or by idempotence.
package leader

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// Duration is how long a lease lasts without renewal.
	Duration = 15 * time.Second
	// RenewEvery is how often a holder renews its lease, also while it executes its task, and how often other replicas try to take it.
	RenewEvery = 5 * time.Second
	// Limit bounds one execution of a task. The next one is due at the next interval.
	Limit = time.Minute
)

// Task is executed periodically by the one replica that holds the lease of its name.
type Task struct {
	store  *store.Store
	name   string
	every  time.Duration
	do     func(ctx context.Context) error
	log    *slog.Logger
	holder uuid.UUID

	ticks <-chan time.Time // When to renew during the task; nil means every RenewEvery.

	until time.Time // Of the lease; zero while another replica holds it.
	next  time.Time // When the task is due.
	last  time.Time // The previous tick.
}

// NewTask returns a worker that starts do at each interval. The name is that of the lease: replicas that share a
// database share it.
func NewTask(s *store.Store, name string, every time.Duration, log *slog.Logger, do func(ctx context.Context) error) *Task {
	return &Task{store: s, name: name, every: every, do: do, log: log, holder: s.NewID()}
}

// Name implements run.Worker.
func (t *Task) Name() string { return t.name }

// Run executes the task until the context ends, and then releases the lease.
func (t *Task) Run(ctx context.Context) error {
	for {
		t.Tick(ctx)
		timer := time.NewTimer(t.Pause())
		select {
		case <-ctx.Done():
			timer.Stop()
			return t.end(ctx)
		case <-timer.C:
		}
	}
}

// Pause returns the time until the next tick. It ends when the task is due: at a fixed rate a tick may come just before
// that, so the task would miss its turn.
func (t *Task) Pause() time.Duration {
	most, now := min(t.every, RenewEvery), t.store.Now()
	if !now.Before(t.until) { // Another replica holds the lease, or nobody.
		return most
	}
	return min(max(t.next.Sub(now), 0), most)
}

// Tick takes or renews the lease if due, and executes the task if due and the lease is held. The worker calls it; tests
// with a clock of their own may call it instead of running the worker.
func (t *Task) Tick(ctx context.Context) {
	now := t.store.Now()
	if now.Before(t.last) { // The clock stepped back: times of the future would suspend the task until the clock is there again.
		t.until, t.next = time.Time{}, time.Time{}
	}
	t.last = now
	if !now.Before(t.until.Add(RenewEvery - Duration)) { // Not held, or due for renewal.
		until := now.Add(Duration)
		_, held, err := t.store.TakeLease(ctx, t.name, t.holder, until)
		switch {
		case err != nil:
			t.warn(ctx, "acquire lease", err) // The current lease stays valid until it expires.
		case held:
			t.until = until
		default:
			t.until = time.Time{}
		}
	}
	if !now.Before(t.until) || now.Before(t.next) {
		return
	}
	t.next = now.Add(t.every)
	if err := t.execute(ctx); err != nil {
		t.warn(ctx, "execute task", err)
	}
}

// execute executes the task, and renews the lease meanwhile: a task may take longer than a term. It ends the task when it loses the
// lease, because another replica may then execute it.
func (t *Task) execute(ctx context.Context) error {
	within, end := context.WithTimeout(ctx, Limit)
	defer end()
	ticks := t.ticks
	if ticks == nil {
		ticker := time.NewTicker(RenewEvery)
		defer ticker.Stop()
		ticks = ticker.C
	}
	done := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		defer end()
		t.renew(within, ticks, done)
	})
	defer renewing.Wait()
	defer close(done)
	return t.do(within)
}

// renew renews the lease at each tick. It returns when done is closed, and when it cannot prove that the lease is held.
func (t *Task) renew(ctx context.Context, ticks <-chan time.Time, done <-chan struct{}) {
	renewed := time.Now().Add(-RenewEvery) // At the latest then.
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-ticks:
		}
		began, until := time.Now(), t.store.Now().Add(Duration)
		_, held, err := t.store.TakeLease(ctx, t.name, t.holder, until)
		switch {
		case err == nil && held:
			renewed, t.until = began, until
		case err == nil:
			t.until = time.Time{}
			return
		case time.Since(renewed) > Duration-RenewEvery: // It may end before the next attempt.
			t.warn(ctx, "renew lease", err)
			return
		}
	}
}

func (t *Task) warn(ctx context.Context, action string, err error) {
	if ctx.Err() == nil {
		t.log.WarnContext(ctx, "failed to run a task", "task", t.name, "action", action, "error", err)
	}
}

// endTimeout bounds the release of the lease when the worker ends.
const endTimeout = time.Second

func (t *Task) end(ctx context.Context) error {
	if t.until.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := t.store.EndLease(ctx, t.name, t.holder); err != nil {
		// The lease expires without a release.
		t.log.DebugContext(ctx, "failed to release a lease", "task", t.name, "error", err)
	}
	return nil
}
