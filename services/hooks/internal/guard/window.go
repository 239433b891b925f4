package guard

import (
	"sync"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// window takes at most so many requests in any span of its length: it remembers when it took the last ones. That is
// exact, where a bucket of tokens takes up to twice as many in the worst span.
type window struct {
	limit int
	span  time.Duration

	mu    sync.Mutex
	taken []time.Time // A ring once it is full; grows until then.
	next  int         // The oldest in the ring.
}

func newWindow(l *orchv1.WebhookRateLimit) *window {
	if l == nil {
		return nil
	}
	return &window{limit: int(l.GetRequests()), span: time.Duration(l.GetSeconds()) * time.Second}
}

// same tells whether a window enforces a limit.
func (w *window) same(l *orchv1.WebhookRateLimit) bool {
	if w == nil || l == nil {
		return w == nil && l == nil
	}
	return w.limit == int(l.GetRequests()) && w.span == time.Duration(l.GetSeconds())*time.Second
}

// take takes a request, or says how long to wait. A nil window takes everything.
func (w *window) take(now time.Time) (wait time.Duration, ok bool) {
	if w == nil {
		return 0, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.taken) < w.limit {
		w.taken = append(w.taken, now)
		return 0, true
	}
	if wait := w.taken[w.next].Add(w.span).Sub(now); wait > 0 {
		return wait, false
	}
	w.taken[w.next] = now
	w.next = (w.next + 1) % w.limit
	return 0, true
}
