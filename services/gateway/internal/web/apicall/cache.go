package apicall

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/services/gateway/internal/web/resultcache"
)

const (
	// maxAge bounds the time for which a result is shared.
	maxAge = 15 * time.Second
	// ageFactor is that time in units of the duration of the call, so a chart takes about a tenth of one core at most.
	ageFactor = 10
	// maxCached bounds the shared results in memory, in bytes of their encoding.
	maxCached = 32 << 20
)

// Cache shares the results of calls of NewShared among readers. A result is shared the longer, the more time its call took, and at least
// for the time that the call asks for. So is the error of a call that took too long, because to repeat it at once would not help. Other errors may pass at any moment, so only
// the callers that wait get them. It is safe for concurrent use.
type Cache struct {
	clock clock.Clock
	cache *resultcache.Cache[proto.Message]
}

// NewCache returns an empty cache.
func NewCache(c clock.Clock) *Cache {
	return &Cache{c, resultcache.New(c, maxCached, proto.Size)}
}

// get returns a recent result, or makes the call. The first reader's departure does not end the call for the others.
func (c *Cache) get(ctx context.Context, key string, least time.Duration, send func(context.Context) (proto.Message, error)) (proto.Message, error) {
	return c.cache.Get(ctx, key, func() (proto.Message, time.Duration, error) {
		start := c.clock.Now()
		result, err := send(context.WithoutCancel(ctx))
		if _, slow := errors.AsType[slowError](err); err != nil && !slow {
			return nil, 0, err
		}
		return result, min(max(ageFactor*c.clock.Now().Sub(start), least), maxAge), err
	})
}
