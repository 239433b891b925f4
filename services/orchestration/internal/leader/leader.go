// Package leader lets one of many replicas work.
//
//	Renew   renews a lease until it is lost
//	Lease   is acquired and released by name; Lead and Run work while they hold one
//	Task    is executed periodically by the holder of a lease
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
	store Store
	lease *Lease
	every time.Duration
	do    func(ctx context.Context) error
	log   *slog.Logger

	ticks <-chan time.Time // When to renew during the task; nil means every RenewEvery.

	until time.Time // Of the lease; zero while another replica holds it.
	next  time.Time // When the task is due.
	last  time.Time // The previous tick.
}

// NewTask returns a worker that starts do at each interval. The name is that of the lease: replicas that share a
// database share it.
func NewTask(s Store, name string, every time.Duration, log *slog.Logger, do func(ctx context.Context) error) *Task {
	return &Task{store: s, lease: NewLease(s, name, Duration), every: every, do: do, log: log}
}

// Name implements run.Worker.
func (t *Task) Name() string { return t.lease.name }

// Run executes the task until the context ends, and then releases the lease.
func (t *Task) Run(ctx context.Context) error {
	for {
		t.Tick(ctx)
		timer := time.NewTimer(t.Pause())
		select {
		case <-ctx.Done():
			timer.Stop()
			t.release(ctx)
			return nil
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

// Tick acquires or renews the lease if due, and executes the task if due and the lease is held. The worker calls it; tests
// with a clock of their own may call it instead of running the worker.
func (t *Task) Tick(ctx context.Context) {
	now := t.store.Now()
	if now.Before(t.last) { // The clock stepped back: times of the future would suspend the task until the clock is there again.
		t.until, t.next = time.Time{}, time.Time{}
	}
	t.last = now
	if !now.Before(t.until.Add(RenewEvery - Duration)) { // Not held, or due for renewal.
		_, _ = t.acquire(ctx) // The current lease stays valid until it expires.
	}
	if !now.Before(t.until) || now.Before(t.next) {
		return
	}
	t.next = now.Add(t.every)
	if err := t.execute(ctx); err != nil {
		t.warn(ctx, "execute task", err)
	}
}

// acquire acquires or renews the lease.
func (t *Task) acquire(ctx context.Context) (held bool, err error) {
	until := t.store.Now().Add(Duration)
	held, err = t.lease.Acquire(ctx)
	switch {
	case err != nil:
		t.warn(ctx, "acquire lease", err)
	case held:
		t.until = until
	default:
		t.until = time.Time{}
	}
	return held, err
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
	renewal, stop := context.WithCancel(within)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		acquired := time.Now().Add(-RenewEvery) // At the earliest then.
		if err := Renew(renewal, ticks, acquired, Duration, t.acquire); err != nil {
			t.warn(within, "renew lease", err)
			end()
		}
	})
	defer renewing.Wait()
	defer stop()
	return t.do(within)
}

func (t *Task) warn(ctx context.Context, action string, err error) {
	if ctx.Err() == nil {
		t.log.WarnContext(ctx, "failed to run a task", "task", t.Name(), "action", action, "error", err)
	}
}

func (t *Task) release(ctx context.Context) {
	if t.until.IsZero() {
		return
	}
	if err := t.lease.Release(ctx); err != nil {
		t.log.DebugContext(ctx, "failed to release a lease, which expires", "task", t.Name(), "error", err)
	}
}
