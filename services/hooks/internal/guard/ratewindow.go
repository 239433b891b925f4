package guard

import (
	"sync"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// rateWindow takes at most so many requests in any span of its length: it remembers when it took the last ones. That is
// exact, where a bucket of tokens takes up to twice as many in the worst span.
type rateWindow struct {
	limit int
	span  time.Duration

	mu    sync.Mutex
	taken []time.Time // A ring once it is full; grows until then.
	next  int         // The oldest in the ring.
}

func newWindow(l *orchv1.WebhookRateLimit) *rateWindow {
	if l == nil {
		return nil
	}
	return &rateWindow{limit: int(l.GetRequests()), span: time.Duration(l.GetSeconds()) * time.Second}
}

// same tells whether a window enforces a limit.
func (w *rateWindow) same(l *orchv1.WebhookRateLimit) bool {
	if w == nil || l == nil {
		return w == nil && l == nil
	}
	return w.limit == int(l.GetRequests()) && w.span == time.Duration(l.GetSeconds())*time.Second
}

// follow is the window for a limit behind this one: its counts go on where the limit is the same.
func (w *rateWindow) follow(l *orchv1.WebhookRateLimit) *rateWindow {
	if w.same(l) {
		return w
	}
	return newWindow(l)
}

// wait is how long a request has to wait; 0 when it can be taken now. The caller holds the lock.
func (w *rateWindow) wait(now time.Time) time.Duration {
	if len(w.taken) < w.limit {
		return 0
	}
	return max(0, w.taken[w.next].Add(w.span).Sub(now))
}

// take takes a request that need not wait. The caller holds the lock.
func (w *rateWindow) take(now time.Time) {
	if len(w.taken) < w.limit {
		w.taken = append(w.taken, now)
		return
	}
	w.taken[w.next] = now
	w.next = (w.next + 1) % w.limit
}

// takeAll takes a request in every window, or in none and says how long to wait. Windows that are nil take everything.
// They are locked in the order in which they are given, which is the same for all callers: from the narrow to the wide.
func takeAll(now time.Time, windows ...*rateWindow) (wait time.Duration, ok bool) {
	for _, w := range windows {
		if w != nil {
			w.mu.Lock()
			wait = max(wait, w.wait(now))
		}
	}
	for _, w := range windows {
		if w == nil {
			continue
		}
		if wait == 0 {
			w.take(now)
		}
		w.mu.Unlock()
	}
	return wait, wait == 0
}
