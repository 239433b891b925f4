package workpools

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// pollGrain is the precision of the time of the last poll. A queue that is polled more often is written no more often.
const pollGrain = 5 * time.Second

// polls remembers when this process last marked the deployments of queues as ready.
type polls struct {
	mu   sync.Mutex
	last map[uuid.UUID]time.Time
}

// maxPolls bounds the memory; beyond it, everything is forgotten and written again.
const maxPolls = 10_000

// due tells whether the deployments of a queue are to be marked now, and takes it that they will be.
func (p *polls) due(queue uuid.UUID, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := p.last[queue]; ok && now.Sub(last) < pollGrain && !now.Before(last) {
		return false
	}
	if p.last == nil || len(p.last) >= maxPolls {
		p.last = map[uuid.UUID]time.Time{}
	}
	p.last[queue] = now
	return true
}

// forget makes the deployments of queues due again.
func (p *polls) forget(queues []uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, queue := range queues {
		delete(p.last, queue)
	}
}

// recordPoll marks queues as polled, and their deployments as ready. That is no part of the answer: a failure is logged,
// and the next poll tries again.
func (s *Service) recordPoll(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool, polled []*orchv1.WorkQueue) {
	now := s.queues.Store().Now()
	var due []uuid.UUID
	for _, queue := range polled {
		id, err := resourceid.Parse(queue.GetId())
		if err == nil {
			err = s.pollQueue(ctx, ws, id, queue, pool, now)
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "failed to record the poll of a work queue", "work_queue_id", queue.GetId(), "error", err)
			continue
		}
		if s.polls.due(id, now) {
			due = append(due, id)
		}
	}
	if len(due) == 0 {
		return
	}
	if err := s.readiness.Ready(ctx, ws, due); err != nil {
		s.polls.forget(due)
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "failed to mark deployments as ready", "work_pool_id", pool.GetId(), "error", err)
		}
	}
}

// pollQueue marks a queue as polled. That is no change of the queue, so the time of its last change stays. A paused queue
// stays paused.
func (s *Service) pollQueue(ctx context.Context, ws, id uuid.UUID, queue *orchv1.WorkQueue, pool *orchv1.WorkPool, now time.Time) error {
	const ready, unready = orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_READY, orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_NOT_READY
	if fresh(queue, now) {
		return nil
	}
	_, err := s.queues.Mutate(ctx, ws, id, func(current *orchv1.WorkQueue, _ int64) (*store.Change[*orchv1.WorkQueue], error) {
		if fresh(current, now) {
			return nil, nil
		}
		next := proto.CloneOf(current)
		next.LastPolled = timestamppb.New(now)
		change := &store.Change[*orchv1.WorkQueue]{Message: next, Quiet: true}
		if current.GetStatus() == unready {
			next.Status = ready.Enum()
			published, err := s.queueEvent(ws, next, pool, queueStatusVerbs[ready], nil)
			if err != nil {
				return nil, err
			}
			change.Effects = []store.Effect{published}
		}
		return change, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// fresh reports whether a poll at this moment changes nothing of a queue. A last poll in the future was before the clock stepped
// back: the queue would stay ready until then, although nobody polls it.
func fresh(queue *orchv1.WorkQueue, now time.Time) bool {
	last := queue.GetLastPolled().AsTime()
	return queue.GetStatus() != orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_NOT_READY &&
		queue.LastPolled != nil && now.Sub(last) < pollGrain && !now.Before(last)
}
