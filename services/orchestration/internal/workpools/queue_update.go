package workpools

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// pollRecent is how long a queue counts as polled.
const pollRecent = time.Minute

// UpdateWorkPoolQueue changes the fields of a queue that were sent.
func (s *Service) UpdateWorkPoolQueue(ctx context.Context, r *orchv1.UpdateWorkPoolQueueRequest) (*emptypb.Empty, error) {
	ws, queue, err := s.locateQueue(ctx, r.GetWorkPoolName(), r.GetName())
	if err != nil {
		return nil, err
	}
	err = s.updateQueue(ctx, ws, queue, r.GetWorkQueue(), r.GetUpdateMask().GetPaths())
	if errors.Is(err, store.ErrNotFound) {
		return nil, queueNotFound(r.GetWorkPoolName(), r.GetName())
	}
	return &emptypb.Empty{}, err
}

// UpdateWorkQueue changes the fields of a queue that were sent.
func (s *Service) UpdateWorkQueue(ctx context.Context, r *orchv1.UpdateWorkQueueRequest) (*emptypb.Empty, error) {
	ws, queue, err := s.locateID(ctx, r.GetId())
	if err == nil {
		err = s.updateQueue(ctx, ws, queue, r.GetWorkQueue(), r.GetUpdateMask().GetPaths())
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, rpc.Detail(http.StatusNotFound, fmt.Sprintf("Work Queue %s not found", r.GetId()))
	}
	return &emptypb.Empty{}, err
}

func (p *Pools) updateQueue(ctx context.Context, ws uuid.UUID, at QueueRef, update *orchv1.WorkQueueUpdate, mask []string) error {
	id, err := resourceid.Parse(at.Queue.GetId())
	if err != nil {
		return err
	}
	if err := checkQueueName(update, mask); err != nil {
		return err
	}
	poolID, err := resourceid.Parse(at.Pool.GetId())
	if err != nil {
		return err
	}
	priority := at.Queue.GetPriority()
	moved := update.Priority != nil && update.GetPriority() != priority
	renamed := false
	_, err = p.queues.Mutate(ctx, ws, id, func(current *orchv1.WorkQueue, _ int64) (*store.Change[*orchv1.WorkQueue], error) {
		next := proto.CloneOf(current)
		fieldmask.Apply(next, update, mask, "priority")
		if slices.Contains(mask, "is_paused") {
			pauseQueue(next, p.queues.Store().Now())
		}
		renamed = next.GetName() != current.GetName()
		effects, err := p.queueEffects(ws, id, current, next, at.Pool, priority, update.Priority)
		if err != nil || (len(effects) == 0 && proto.Equal(current, next)) {
			return nil, err
		}
		return &store.Change[*orchv1.WorkQueue]{Message: next, Effects: effects}, nil
	})
	if errors.Is(err, store.ErrDuplicate) {
		return rpc.Detail(http.StatusConflict, fmt.Sprintf("A work queue with this name already exists in work pool %q.", at.Pool.GetName()))
	}
	if err != nil {
		return err
	}
	if moved {
		if _, err := p.rank(ctx, ws, poolID, at.Queue.GetId(), update.Priority); err != nil {
			return err
		}
	}
	if renamed {
		p.flush.Flush(ctx, query.WorkQueue, ws, id)
	}
	p.notify(ws, poolID)
	return nil
}

// queueEffects are what a change of a queue causes: events, and the new name in its deployments and runs.
func (p *Pools) queueEffects(ws, id uuid.UUID, current, next *orchv1.WorkQueue, pool *orchv1.WorkPool, from int64, to *int64) ([]store.Effect, error) {
	before, after := proto.CloneOf(current), proto.CloneOf(next)
	before.Priority, after.Priority = from, from
	if to != nil {
		after.Priority = *to
	}
	var effects []store.Effect
	payload, err := changes(before, after, queueFields)
	if err != nil {
		return nil, err
	}
	if payload != nil {
		updated, err := p.queueEvent(ws, next, pool, "updated", payload)
		if err != nil {
			return nil, err
		}
		effects = append(effects, updated)
	}
	if current.GetStatus() != next.GetStatus() {
		published, err := p.queueEvent(ws, next, pool, queueStatusVerbs[next.GetStatus()], nil)
		if err != nil {
			return nil, err
		}
		effects = append(effects, published)
	}
	if current.GetName() != next.GetName() {
		effects = append(effects, p.queues.Store().ResourceEffect(kindRename, ws, id))
	}
	return effects, nil
}

// pauseQueue sets the status that follows from a pause, or from its end.
func pauseQueue(queue *orchv1.WorkQueue, now time.Time) {
	const paused = orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_PAUSED
	switch {
	case queue.GetIsPaused():
		queue.Status = paused.Enum()
	case queue.GetStatus() == paused:
		queue.Status = orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_NOT_READY.Enum()
		if queue.LastPolled != nil && now.Sub(queue.GetLastPolled().AsTime()) < pollRecent {
			queue.Status = orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_READY.Enum()
		}
	}
}
