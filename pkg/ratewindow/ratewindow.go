// Package ratewindow limits rates exactly: in any span of its length a window takes at most its limit. A bucket of tokens takes up
// to twice as many in the worst span.
package ratewindow

import (
	"sync"
	"time"
)

// Window remembers when it took the last requests or events. It holds 24 bytes for each one, up to its limit. It is safe for
// concurrent use; nil takes everything.
type Window struct {
	limit int
	span  time.Duration

	mu    sync.Mutex
	taken []time.Time // A ring once it is full; grows until then.
	next  int         // The oldest in the ring.
}

// New returns a window that has taken nothing.
func New(limit int, span time.Duration) *Window { return &Window{limit: limit, span: span} }

// Is reports whether the window has a limit and a span.
func (w *Window) Is(limit int, span time.Duration) bool {
	return w != nil && w.limit == limit && w.span == span
}

// Limit is the number that the window takes in its span.
func (w *Window) Limit() int { return w.limit }

// wait returns how long n must wait; 0 if they can be taken now. n is at most the limit. The caller holds the lock.
func (w *Window) wait(now time.Time, n int) time.Duration {
	room := w.limit - len(w.taken)
	if n <= room {
		return 0
	}
	last := w.taken[(w.next+n-room-1)%len(w.taken)] // The newest request that must have left the span.
	return max(0, last.Add(w.span).Sub(now))
}

// take takes n that need not wait. The caller holds the lock.
func (w *Window) take(now time.Time, n int) {
	for range n {
		if len(w.taken) < w.limit {
			w.taken = append(w.taken, now)
			continue
		}
		w.taken[w.next] = now
		w.next = (w.next + 1) % w.limit
	}
}

// Take takes n in every window and returns nil, or takes none and returns the window with the longest wait. n is at most the limit of
// each. All callers name the windows in the same order, from the narrow to the wide, because they are locked in that order.
func Take(now time.Time, n int, windows ...*Window) (full *Window, wait time.Duration) {
	for _, w := range windows {
		if w != nil {
			w.mu.Lock()
			if own := w.wait(now, n); own > wait {
				full, wait = w, own
			}
		}
	}
	for _, w := range windows {
		if w == nil {
			continue
		}
		if full == nil {
			w.take(now, n)
		}
		w.mu.Unlock()
	}
	return full, wait
}
