package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/isolation"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

const (
	// A workspace in quarantine is attempted again after firstRetry, and after longer and longer delays up to lastRetry.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// maxOutages is how many outages or conflicts in a row count as a failure: a workspace whose reads always exceed their time limit
	// must not have the events of the others redelivered for ever.
	maxOutages = 3
)

// quarantine is the state of a workspace whose evaluation fails, for example because a newer version wrote its documents. Its events
// wait in its backlog, so it delays nobody else. It is evaluated again when the failure is mended.
//
//	evaluated ──failure, or maxOutages in a row──► in quarantine ──attempt succeeds──► evaluated
//	                                                 └─ attempt fails: wait twice as long
type quarantine struct {
	mu       sync.Mutex
	outages  int
	attempts int // Since the quarantine began; 0 outside.
	until    time.Time
}

// failed notes that an evaluation failed. It reports whether the workspace is in quarantine now.
func (t *workspaceEvaluator) failed(ctx context.Context, err error) bool {
	q, now := &t.quarantine, t.engine.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	if transient(err) {
		if q.outages++; q.outages < maxOutages {
			return false
		}
	}
	if q.attempts++; q.attempts == 1 {
		t.engine.Metrics.quarantined.Inc()
		t.engine.Log.ErrorContext(ctx, "failed to evaluate automations of a workspace, its events wait", "workspace", t.ws, "error", err)
	}
	q.until = now.Add(min(lastRetry, firstRetry<<min(q.attempts-1, 10)))
	return true
}

// transient reports whether another attempt may succeed soon: an outage, or another replica was faster.
func transient(err error) bool { return isolation.IsOutage(err) || errors.Is(err, trigger.ErrConflict) }

// succeeded notes that an evaluation succeeded, which ends a quarantine.
func (t *workspaceEvaluator) succeeded(ctx context.Context) {
	q := &t.quarantine
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outages = 0
	if q.attempts > 0 {
		q.attempts, q.until = 0, time.Time{}
		t.engine.Metrics.quarantined.Dec()
		t.engine.Log.InfoContext(ctx, "automations of a workspace are evaluated again", "workspace", t.ws)
	}
}

// quarantinedFor returns how long no attempt is due; 0 if one is. In reports whether the workspace is in quarantine.
func (t *workspaceEvaluator) quarantinedFor(now time.Time) (wait time.Duration, in bool) {
	q := &t.quarantine
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(0, q.until.Sub(now)), q.attempts > 0
}

// attempt executes do unless the workspace is in quarantine and no attempt is due. It notes the outcome.
func (t *workspaceEvaluator) attempt(ctx context.Context, do func(context.Context) error) error {
	if wait, _ := t.quarantinedFor(t.engine.now()); wait > 0 {
		return nil
	}
	err := do(ctx)
	if err != nil {
		t.failed(ctx, err)
		return err
	}
	t.succeeded(ctx)
	return nil
}
