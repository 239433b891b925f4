// Package clock gives the time to code that must be testable without waiting.
//
// Durations are waited for with the time package itself: tests run such code under testing/synctest, where timers are
// already simulated. What a Clock adds is the *reading*: one place that truncates to microseconds, the resolution of
// the REST API and of the store, so that a time survives every round trip unchanged.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time. Implementations are safe for concurrent use.
type Clock interface {
	// Now is the current time in UTC, truncated to microseconds.
	Now() time.Time
}

// System is the wall clock of the machine (or of the synctest bubble that the caller runs in).
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return Canonical(time.Now()) }

// Canonical is t as it is stored and sent: in UTC, truncated to microseconds, without a monotonic reading.
func Canonical(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond).Round(0) }

// Manual is a clock that stands still until it is moved. The zero value stands at the zero time.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// NewManual is a clock that stands at t.
func NewManual(t time.Time) *Manual { return &Manual{now: Canonical(t)} }

// Now implements Clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock by d, which may be negative: wall clocks do step back.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = Canonical(m.now.Add(d))
}

// Set moves the clock to t.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = Canonical(t)
}
