// Package resultcache shares results among equal requests: one caller computes a result, callers that come meanwhile wait for it,
// and those that come soon afterwards get it from memory. So a caller may get a result that is older than its call.
//
// The caller authorizes each request first. A key contains everything that the result depends on.
package resultcache

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

// Cache holds recent results. It is safe for concurrent use.
type Cache[V any] struct {
	clock   clock.Clock
	maxSize int
	sizeOf  func(V) int

	mu      sync.Mutex
	entries map[string]*entry[V]
	size    int
	swept   time.Time
}

// entry is a result, or one that is being computed.
type entry[V any] struct {
	done  chan struct{} // Closed when value and err are final.
	value V
	err   error
	size  int
	// from and until bound the time of its use; both are zero while it is computed.
	from, until time.Time
}

// fresh reports whether the entry serves at a time. A clock that steps back outdates it.
func (e *entry[V]) fresh(now time.Time) bool {
	return e.until.IsZero() || !now.Before(e.from) && now.Before(e.until)
}

// errAborted is returned to waiting callers when the computing one panicked.
var errAborted = errors.New("resultcache: computation was aborted")

// New returns an empty cache of results whose sizes in bytes have a maximum sum.
func New[V any](c clock.Clock, maxSize int, sizeOf func(V) int) *Cache[V] {
	return &Cache[V]{clock: c, maxSize: maxSize, sizeOf: sizeOf, entries: map[string]*entry[V]{}}
}

// Get returns the result of a key. If there is none, one caller computes it and the others wait for it. Compute also returns the
// time for which the result, or its error, is shared after that; 0 shares it with the waiting callers only.
func (c *Cache[V]) Get(ctx context.Context, key string, compute func() (V, time.Duration, error)) (V, error) {
	c.mu.Lock()
	now := c.clock.Now()
	c.sweep(now)
	e, found := c.entries[key]
	if found && e.fresh(now) {
		c.mu.Unlock()
		select {
		case <-e.done:
			return e.value, e.err
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
	if found {
		c.remove(key, e)
	}
	e = &entry[V]{done: make(chan struct{}), err: errAborted}
	c.entries[key] = e
	c.mu.Unlock()
	var age time.Duration
	defer func() { c.finish(key, e, age) }()
	e.value, age, e.err = compute()
	return e.value, e.err
}

// finish wakes the callers that wait for an entry, and keeps it for its age if it fits.
func (c *Cache[V]) finish(key string, e *entry[V], age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(e.done)
	if e.err == nil {
		e.size = c.sizeOf(e.value)
	}
	if age <= 0 || c.size+e.size > c.maxSize {
		delete(c.entries, key)
		return
	}
	c.size += e.size
	e.from = c.clock.Now()
	e.until = e.from.Add(age)
}

func (c *Cache[V]) remove(key string, e *entry[V]) {
	c.size -= e.size
	delete(c.entries, key)
}

// sweepInterval is the time between removals of old entries.
const sweepInterval = time.Second

// sweep removes old entries. The caller holds the lock.
func (c *Cache[V]) sweep(now time.Time) {
	if since := now.Sub(c.swept); since >= 0 && since < sweepInterval {
		return
	}
	c.swept = now
	for key, e := range c.entries {
		if !e.fresh(now) {
			c.remove(key, e)
		}
	}
}
