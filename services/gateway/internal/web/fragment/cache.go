// Package fragment caches rendered HTML for a second. Pages that follow one topic all request their content after a change: the
// first request renders, and equal requests of the same second share the result.
//
// The caller authorizes each request first. The key contains everything that the fragment depends on.
package fragment

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// maxAge is the time for which a fragment is served.
	maxAge = time.Second
	// maxBytes bounds the fragments in memory.
	maxBytes = 64 << 20
)

// Fragment is rendered HTML.
type Fragment struct {
	Body []byte
	// Tag is the entity tag of the body, with its quotation marks.
	Tag string
}

// Cache holds the fragments of the last second. It is safe for concurrent use.
type Cache struct {
	clock clock.Clock

	mu      sync.Mutex
	entries map[string]*entry
	bytes   int
	swept   time.Time
}

// entry is a fragment that is rendered, or being rendered.
type entry struct {
	done     chan struct{} // Closed when fragment and err are final.
	fragment Fragment
	err      error
	until    time.Time // Zero while it is rendered.
}

// errAborted is returned to waiting requests when the rendering one panicked.
var errAborted = errors.New("fragment: rendering was aborted")

// NewCache returns an empty cache.
func NewCache(c clock.Clock) *Cache { return &Cache{clock: c, entries: map[string]*entry{}} }

// Get returns the fragment of a key. If there is none of the last second, one caller renders it and the others wait for it.
// The waiting callers get its error too. Errors are not cached.
func (c *Cache) Get(ctx context.Context, key string, render func() ([]byte, error)) (Fragment, error) {
	c.mu.Lock()
	now := c.clock.Now()
	c.sweep(now)
	e, found := c.entries[key]
	if found && e.until.IsZero() || found && now.Before(e.until) {
		c.mu.Unlock()
		select {
		case <-e.done:
			return e.fragment, e.err
		case <-ctx.Done():
			return Fragment{}, ctx.Err()
		}
	}
	if found {
		c.remove(key, e)
	}
	e = &entry{done: make(chan struct{}), err: errAborted}
	c.entries[key] = e
	c.mu.Unlock()
	defer c.finish(key, e)
	body, err := render()
	if e.err = err; err == nil {
		digest := sha256.Sum256(body)
		e.fragment = Fragment{Body: body, Tag: `"` + base64.RawURLEncoding.EncodeToString(digest[:12]) + `"`}
	}
	return e.fragment, e.err
}

// finish wakes the callers that wait for an entry, and caches its fragment if it fits.
func (c *Cache) finish(key string, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(e.done)
	if e.err != nil || c.bytes+len(e.fragment.Body) > maxBytes {
		delete(c.entries, key)
		return
	}
	c.bytes += len(e.fragment.Body)
	e.until = c.clock.Now().Add(maxAge)
}

func (c *Cache) remove(key string, e *entry) {
	c.bytes -= len(e.fragment.Body)
	delete(c.entries, key)
}

// sweep removes old fragments once in maxAge. The caller holds the lock.
func (c *Cache) sweep(now time.Time) {
	if now.Sub(c.swept) < maxAge {
		return
	}
	c.swept = now
	for key, e := range c.entries {
		if !e.until.IsZero() && !now.Before(e.until) {
			c.remove(key, e)
		}
	}
}
