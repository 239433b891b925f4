package definitioncache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// lookUpTimeout bounds one look-up in the bucket.
	lookUpTimeout = 2 * time.Second
	// trustWithoutContact is how long a credential is trusted without contact to the broker: it may have been revoked.
	trustWithoutContact = 5 * time.Second
	// maxSlug is the largest length of a slug.
	maxSlug = 128
)

// Find returns the enabled webhook with this slug. Errors:
//   - ErrNotFound: there is none, or it is disabled;
//   - ErrUnavailable: the look-up failed, or was not made because of too many look-ups.
func (c *Cache) Find(ctx context.Context, slug string) (*orchv1.WebhookDefinition, error) {
	if !wellFormed(slug) {
		return nil, ErrNotFound
	}
	if c.Loaded() != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ErrLoading)
	}
	key := webhookdef.Key(slug)
	if hook := c.cached(key); hook.GetEnabled() {
		return hook, nil
	}
	if c.absent.has(key) {
		return nil, ErrNotFound
	}
	found, err, _ := c.flight.Do(key, func() (any, error) { return c.lookUp(ctx, key) })
	if err != nil {
		return nil, err
	}
	return found.(*orchv1.WebhookDefinition), nil
}

// lookUp reads the bucket. The result does not enter the map: only the watch writes there, in order.
func (c *Cache) lookUp(ctx context.Context, key string) (*orchv1.WebhookDefinition, error) {
	if !c.limiter.AllowN(c.opts.Clock.Now(), 1) {
		return nil, fmt.Errorf("%w: too many look-ups of unknown slugs", ErrUnavailable)
	}
	// Other requests share this look-up: it must not end because the first one hangs up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookUpTimeout)
	defer cancel()
	entry, err := c.opts.Bucket.Get(ctx, key)
	switch {
	case errors.Is(err, broker.ErrNotFound):
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	default:
		hook, err := webhookdef.Decode(entry)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		// A replica of the bucket may lag behind the watch.
		if hook.GetEnabled() && hook.GetRevision() >= c.cached(key).GetRevision() {
			return hook, nil
		}
	}
	c.absent.add(key)
	return nil, ErrNotFound
}

// Current is nil while the state of credentials is recent enough to be trusted.
func (c *Cache) Current() error {
	if age := c.opts.Clock.Now().Sub(c.opts.Bucket.LastContact()).Abs(); age > trustWithoutContact { // Negative: the clock stepped back.
		return fmt.Errorf("%w: the broker did not answer for more than %s", ErrUnavailable, trustWithoutContact)
	}
	return nil
}

// Disabled reports, for metrics only, whether the cache has a disabled webhook with this slug.
func (c *Cache) Disabled(slug string) bool {
	hook := c.cached(webhookdef.Key(slug))
	return hook != nil && !hook.GetEnabled()
}

// wellFormed reports whether a slug has the characters and the length of one.
func wellFormed(slug string) bool {
	if slug == "" || len(slug) > maxSlug {
		return false
	}
	for i := range len(slug) {
		c := slug[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
