package workpools

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Many workers poll a pool at once, and ask for the same runs. Their bounds differ only because each worker reads its own
// clock. So a read has its bound rounded up, and concurrent polls that agree on the rest share one read:
//
//	worker A: starts <= 12:00:10.012 ─┐
//	worker B: starts <= 12:00:10.071 ─┴─▶ read: starts <= 12:00:10.100 ─▶ equal for both unless a run starts in between
//
// No poll returns a result that is older than its request (see package coalesce).

// pollBoundGrain is the precision of the upper bound of a shared read.
const pollBoundGrain = 100 * time.Millisecond

// pollTimeout bounds a shared read, which no caller can cancel.
const pollTimeout = 30 * time.Second

// pollKey identifies polls that share reads. The window is in microseconds.
type pollKey struct {
	workspace     uuid.UUID
	pool, queues  string
	after, before int64
	limit         int64
}

// key returns the key of a poll.
func (p poll) key() pollKey {
	k := pollKey{
		workspace: p.workspace, pool: p.pool, queues: fmt.Sprintf("%q", p.queues), limit: p.limit,
		after: math.MinInt64, before: math.MaxInt64,
	}
	if p.within.after != nil {
		k.after = p.within.after.UnixMicro()
	}
	if p.within.before != nil {
		k.before = p.within.before.UnixMicro()
	}
	return k
}

// widened returns the poll with its upper bound rounded up.
func (p poll) widened() poll {
	if p.within.before != nil {
		bound := p.within.before.Truncate(pollBoundGrain)
		if bound.Before(*p.within.before) {
			bound = bound.Add(pollBoundGrain)
		}
		p.within.before = &bound
	}
	return p
}

// sharedPoll returns the runs of a poll by a read that concurrent polls may share. The runs of the widened poll are those of
// the poll itself, unless one of them starts after the poll's bound: then the poll reads for itself.
func (s *Service) sharedPoll(ctx context.Context, p poll) ([]*orchv1.WorkerFlowRunResponse, error) {
	widened := p.widened()
	ranked, err := s.reads.Do(ctx, widened.key(), func(ctx context.Context) ([]*orchv1.WorkerFlowRunResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, pollTimeout)
		defer cancel()
		return s.poll(ctx, widened)
	})
	if err != nil || p.within.before == nil {
		return ranked, err
	}
	beyond := func(one *orchv1.WorkerFlowRunResponse) bool {
		return one.GetFlowRun().GetNextScheduledStartTime().AsTime().After(*p.within.before)
	}
	if slices.ContainsFunc(ranked, beyond) {
		return s.poll(ctx, p)
	}
	return ranked, nil
}
