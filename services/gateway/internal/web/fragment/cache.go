// Package fragment caches rendered HTML for a second. Pages that follow one topic all request their content after a change: the
// first request renders, and equal requests of the same second share the result.
//
// The caller authorizes each request first. The key contains everything that the fragment depends on.
package fragment

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/services/gateway/internal/web/resultcache"
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
type Cache struct{ fragments *resultcache.Cache[Fragment] }

// NewCache returns an empty cache.
func NewCache(c clock.Clock) *Cache {
	return &Cache{resultcache.New(c, maxBytes, func(f Fragment) int { return len(f.Body) })}
}

// Get returns the fragment of a key. If there is none of the last second, one caller renders it and the others wait for it.
// The waiting callers get its error too. Errors are not cached.
func (c *Cache) Get(ctx context.Context, key string, render func() ([]byte, error)) (Fragment, error) {
	return c.fragments.Get(ctx, key, func() (Fragment, time.Duration, error) {
		body, err := render()
		if err != nil {
			return Fragment{}, 0, err
		}
		digest := sha256.Sum256(body)
		return Fragment{Body: body, Tag: `"` + base64.RawURLEncoding.EncodeToString(digest[:12]) + `"`}, maxAge, nil
	})
}
