// Package clock injects the current time into code that tests must control.
//
// Code waits with the time package itself: tests run it under testing/synctest, which simulates timers. A Clock adds
// one place that truncates readings to microseconds, the resolution of the REST API and of the store. So a time
// survives every round trip unchanged.
package clock

import (
	"sync"
	"time"
)

// Clock returns the current time. Implementations are safe for concurrent use.
type Clock interface {
	// Now returns the current time in UTC, truncated to microseconds.
	Now() time.Time
}

// System is the wall clock of the machine, or of the caller's synctest bubble.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return Canonical(time.Now()) }

// Canonical returns t as it is stored and sent: in UTC, truncated to microseconds, without a monotonic reading.
func Canonical(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond).Round(0) }

// Manual is a clock that changes only by Advance and Set. The zero value reads the zero time.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// NewManual returns a clock that reads t.
func NewManual(t time.Time) *Manual { return &Manual{now: Canonical(t)} }

// Now implements Clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock by d, which may be negative, because wall clocks can step back.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = Canonical(m.now.Add(d))
}

// Set sets the clock to t.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = Canonical(t)
}
