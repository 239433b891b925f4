package hooks

import (
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// throttleInterval is the least time between two failure events of one webhook and reason that strangers can cause.
	throttleInterval = time.Minute
	// maxThrottled bounds the remembered keys.
	maxThrottled = 8192
)

// throttle allows one event per key and interval.
type throttle struct {
	clock clock.Clock

	mu   sync.Mutex
	last map[string]time.Time
}

func newThrottle(c clock.Clock) *throttle { return &throttle{clock: c, last: map[string]time.Time{}} }

// allow reports whether the interval of a key has passed, and begins a new one if so.
func (t *throttle) allow(key string) bool {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.last[key]; ok && now.Sub(last) < throttleInterval {
		return false
	}
	if len(t.last) >= maxThrottled {
		for id, last := range t.last {
			if now.Sub(last) >= throttleInterval {
				delete(t.last, id)
			}
		}
		if len(t.last) >= maxThrottled {
			return false
		}
	}
	t.last[key] = now
	return true
}
