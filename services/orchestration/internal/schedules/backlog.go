package schedules

import (
	"sync"
	"time"
)

// A pass is bounded (Limits.PassRuns), so a backlog of due deployments may take longer than Limits.CatchUp: after an outage,
// or while schedules call for more runs than passes create. The catch-up then counts from the beginning of the backlog, not
// from the pass that reaches a deployment. So no run is dropped because others came first.

// maxBacklog bounds how far back a backlog extends the catch-up. A scheduler that is behind for longer drops runs.
const maxBacklog = 24 * time.Hour

// backlog remembers since when due deployments wait for a pass. It belongs to the replica that schedules: a replica that
// takes over starts with none.
type backlog struct {
	mu    sync.Mutex
	since time.Time // The zero time is no backlog.
}

// age returns the time since the backlog began, at most maxBacklog; zero without one.
func (b *backlog) age(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		return 0
	}
	return max(0, min(now.Sub(b.since), maxBacklog))
}

// passed records that a pass ended, and whether it left due deployments to the next one.
func (b *backlog) passed(now time.Time, left bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !left:
		b.since = time.Time{}
	case b.since.IsZero() || b.since.After(now): // The clock may have gone back.
		b.since = now
	}
}

// extended returns the limits of a pass: the catch-up counts from the beginning of the backlog.
func (s *Scheduler) extended(now time.Time) Limits {
	limits := s.limits
	if limits.CatchUp > 0 {
		limits.CatchUp += s.backlog.age(now)
	}
	return limits
}
