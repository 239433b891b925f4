package workpools

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Foreman marks workers as offline, and pools, queues and deployments as not ready.
//
// While the server or the store is away, nobody can send a heartbeat or a poll. So silence counts from the first pass after a start,
// after a pass that met an outage, and after a gap between two passes.
type Foreman struct {
	service *Service
	every   time.Duration

	mu    sync.Mutex
	since time.Time // Since when all passes took place.
	last  time.Time // The last pass; zero if it met an outage.
}

// NewForeman returns a foreman whose passes take place at an interval.
func NewForeman(s *Service, every time.Duration) *Foreman { return &Foreman{service: s, every: every} }

// Pass checks all workers, pools, queues and deployments.
func (f *Foreman) Pass(ctx context.Context) error {
	err := f.service.checkReadiness(ctx, f.begin(f.service.pools.Store().Now()))
	if errors.Is(err, store.ErrUnavailable) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.last = time.Time{}
	}
	return err
}

// begin records a pass, and returns the moment from which silence counts.
func (f *Foreman) begin(now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	// A pass may be late by one interval. The clock may have stepped back.
	if f.last.IsZero() || now.Sub(f.last) > 2*f.every || now.Before(f.last) {
		f.since = now
	}
	f.last = now
	return f.since
}
