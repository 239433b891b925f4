package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// idleFor is how long a workspace without events and timers stays in memory. It exceeds the window of deduplication, so no id that
// still matters is forgotten.
const idleFor = 35 * time.Minute

// evaluator returns the state of a workspace.
func (e *Engine) evaluator(ws uuid.UUID) *workspaceEvaluator {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tenantLocked(ws)
}

func (e *Engine) tenantLocked(ws uuid.UUID) *workspaceEvaluator {
	t := e.evaluators[ws]
	if t == nil {
		t = newWorkspaceEvaluator(e, ws)
		t.usedAt = e.now()
		e.evaluators[ws] = t
	}
	return t
}

// with passes the state of a workspace to do. Meanwhile it stays in memory.
func (e *Engine) with(ws uuid.UUID, do func(*workspaceEvaluator) error) error {
	e.mu.Lock()
	t := e.tenantLocked(ws)
	t.users++
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		t.users--
		t.usedAt = e.now()
	}()
	return do(t)
}

// each passes the workspaces in memory to visit, until it returns false.
func (e *Engine) each(visit func(*workspaceEvaluator) bool) {
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.evaluators))
	e.mu.Unlock()
	for _, t := range all {
		if !visit(t) {
			return
		}
	}
}

// dropIdle removes workspaces from memory that nothing has used for idleFor. The next event or timer loads them again.
func (e *Engine) dropIdle() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ws, t := range e.evaluators {
		if t.users == 0 && e.now().Sub(t.usedAt) >= idleFor && t.idle() {
			delete(e.evaluators, ws)
		}
	}
}

// idle reports whether the store has everything that matters of the workspace, and nothing works on it. Metrics are sampled all the
// time, so their workspaces are never idle. A busy workspace is not waited for.
func (t *workspaceEvaluator) idle() bool {
	if _, in := t.quarantinedFor(t.engine.now()); in || t.sampling.Load() || !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	if !t.loaded || len(t.order.Deferred()) > 0 || len(t.set.Metrics()) > 0 || !t.backlog.empty() {
		return false
	}
	if len(t.set.Automations()) > 0 {
		t.engine.populated.Add(-1)
	}
	return true
}

// empty reports whether nothing waits for a turn, and nothing evaluates.
func (b *backlog) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count == 0 && !b.draining
}
