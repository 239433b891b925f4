package hooks

import (
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// throttleInterval is the least time between two failure events of one webhook that strangers can cause.
	throttleInterval = time.Minute
	// maxThrottled bounds the webhooks that are remembered.
	maxThrottled = 8192
)

// throttle lets something happen once in an interval for each webhook.
type throttle struct {
	clock clock.Clock

	mu   sync.Mutex
	last map[string]time.Time
}

func newThrottle(c clock.Clock) *throttle { return &throttle{clock: c, last: map[string]time.Time{}} }

// allow tells whether it is time again for the webhook, and notes it.
func (t *throttle) allow(hook string) bool {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.last[hook]; ok && now.Sub(last) < throttleInterval {
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
	t.last[hook] = now
	return true
}
