package definitioncache

import (
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// absenceLasts is how long the broker is not asked again about a slug that it does not know. A change of the key
	// ends it at once.
	absenceLasts = time.Second
	// maxAbsences bounds the memory that random slugs can take.
	maxAbsences = 4096
)

// absences remembers keys under which nothing was found.
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
		clear(a.until) // What is forgotten is only asked again, and that is limited.
	}
	a.until[key] = a.clock.Now().Add(absenceLasts)
}

func (a *absences) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.until, key)
}
