package ask

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/services/gateway/internal/web/resultcache"
)

const (
	// maxAge bounds the time for which an answer is shared.
	maxAge = 15 * time.Second
	// ageFactor is that time in units of the time that the answer took, so a chart takes about a tenth of one core at most.
	ageFactor = 10
	// maxAnswers bounds the shared answers in memory, in bytes of their encoding.
	maxAnswers = 32 << 20
)

// Answers shares the answers to questions of NewShared among readers. An answer is shared the longer, the more time it took. So is
// the error of a call that took too long, because to repeat it at once would not help. Other errors may pass at any moment, so only
// the callers that wait get them. It is safe for concurrent use.
type Answers struct {
	clock clock.Clock
	cache *resultcache.Cache[proto.Message]
}

// NewAnswers returns an empty set of answers.
func NewAnswers(c clock.Clock) *Answers {
	return &Answers{c, resultcache.New(c, maxAnswers, proto.Size)}
}

// get returns a recent answer, or asks for one. The first reader's departure does not end the call for the others.
func (a *Answers) get(ctx context.Context, key string, send func(context.Context) (proto.Message, error)) (proto.Message, error) {
	return a.cache.Get(ctx, key, func() (proto.Message, time.Duration, error) {
		start := a.clock.Now()
		answer, err := send(context.WithoutCancel(ctx))
		if _, slow := errors.AsType[slowError](err); err != nil && !slow {
			return nil, 0, err
		}
		return answer, min(ageFactor*a.clock.Now().Sub(start), maxAge), err
	})
}
