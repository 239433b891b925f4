package engine

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// Counter counts per id in fixed windows of time. Its zero value is not usable; see NewCounter.
type Counter struct {
	window time.Duration

	mu     sync.Mutex
	number int64 // The window that is counted.
	counts map[uuid.UUID]int
}

// NewCounter returns a counter whose windows begin at multiples of a duration since 1970.
func NewCounter(window time.Duration) *Counter {
	return &Counter{window: window, counts: map[uuid.UUID]int{}}
}

// Add counts one more of an id. It returns the count in the current window.
func (c *Counter) Add(id uuid.UUID, now time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if window := c.windowOf(now); window != c.number {
		c.number = window
		clear(c.counts)
	}
	c.counts[id]++
	return c.counts[id]
}

// AddWithin counts n more of an id, unless the count in the current window would exceed a limit. It reports whether it did.
func (c *Counter) AddWithin(id uuid.UUID, n, limit int, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if window := c.windowOf(now); window != c.number {
		c.number = window
		clear(c.counts)
	}
	if c.counts[id]+n > limit {
		return false
	}
	c.counts[id] += n
	return true
}

// Undo takes back an Add at that time. The count of a past window is over, so it stays as it is.
func (c *Counter) Undo(id uuid.UUID, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.windowOf(at) == c.number && c.counts[id] > 0 {
		c.counts[id]--
	}
}

func (c *Counter) windowOf(at time.Time) int64 { return at.UnixNano() / int64(c.window) }
