// Package lease lets one of many replicas do what needs doing once.
//
//	replica A   take ──► task ─ renew ─ task ─ renew ──✗ (gone)
//	replica B   refused … refused … refused … … … … … … take ──► task
//	                                            └ 15 s ┘
//
// A lease only saves work: two replicas whose clocks differ may do a task at the same time, for a while. Every task
// must therefore be correct when it is done twice at once, by compare-and-set or by being the same the second time.
package lease

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// Term is how long a lease is held without being renewed.
	Term = 15 * time.Second
	// RenewEvery is how often a holder renews its lease, and how often others try to take it.
	RenewEvery = 5 * time.Second
)

// Task is done again and again by the one replica that holds the lease of its name.
type Task struct {
	store  *store.Store
	name   string
	every  time.Duration
	do     func(ctx context.Context) error
	log    *slog.Logger
	holder uuid.UUID

	until time.Time // Of the lease; the zero time when it is not held.
	next  time.Time // When the task is due.
}

// NewTask returns a worker that does a task with pauses of a length between the beginnings. Names are those of leases:
// replicas that share a database share them.
func NewTask(s *store.Store, name string, every time.Duration, log *slog.Logger, do func(ctx context.Context) error) *Task {
	return &Task{store: s, name: name, every: every, do: do, log: log, holder: s.NewID()}
}

// Name implements run.Worker.
func (t *Task) Name() string { return t.name }

// Run works until the context ends, and then lets the lease go.
func (t *Task) Run(ctx context.Context) error {
	ticker := time.NewTicker(min(t.every, RenewEvery))
	defer ticker.Stop()
	for {
		t.Tick(ctx)
		select {
		case <-ctx.Done():
			return t.end(ctx)
		case <-ticker.C:
		}
	}
}

// Tick takes or renews the lease where that is due, and does the task where that is due and the lease is held. Its
// worker calls it; tests that have a clock of their own may, instead of running the worker.
func (t *Task) Tick(ctx context.Context) {
	now := t.store.Now()
	if !now.Before(t.until.Add(RenewEvery - Term)) { // Not held, or old enough to be renewed.
		until := now.Add(Term)
		_, held, err := t.store.TakeLease(ctx, t.name, t.holder, until)
		switch {
		case err != nil:
			t.warn(ctx, "a lease could not be taken", err) // It is held as long as it was.
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
	// What does not get done within the lease is left for the next time: another replica may be at it then.
	within, cancel := context.WithTimeout(ctx, t.until.Sub(now))
	defer cancel()
	if err := t.do(within); err != nil {
		t.warn(ctx, "a task did not finish", err)
	}
}

func (t *Task) warn(ctx context.Context, message string, err error) {
	if ctx.Err() == nil {
		t.log.WarnContext(ctx, message, "task", t.name, "error", err)
	}
}

// endTimeout bounds how long the end of a worker waits for the database.
const endTimeout = time.Second

func (t *Task) end(ctx context.Context) error {
	if t.until.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := t.store.EndLease(ctx, t.name, t.holder); err != nil {
		// The lease ends by itself.
		t.log.DebugContext(ctx, "a lease was left to end by itself", "task", t.name, "error", err)
	}
	return nil
}
