package definitioncache

import (
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// absenceLasts is how long a negative look-up is cached. A change of the key ends it at once.
	absenceLasts = time.Second
	// maxAbsences bounds the memory for random slugs.
	maxAbsences = 4096
)

// absences caches keys without a definition.
type absences struct {
	clock clock.Clock

	mu    sync.Mutex
	until map[string]time.Time
}

func newAbsences(c clock.Clock) *absences { return &absences{clock: c, until: map[string]time.Time{}} }

func (a *absences) has(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := a.until[key]
	return ok && a.clock.Now().Before(until)
}

func (a *absences) add(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.until) >= maxAbsences {
		clear(a.until) // The keys are only looked up again, at a limited rate.
	}
	a.until[key] = a.clock.Now().Add(absenceLasts)
}

func (a *absences) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.until, key)
}
