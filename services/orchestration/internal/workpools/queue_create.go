package workpools

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateWorkPoolQueue stores a queue of a pool. A name that another queue of the pool has is a conflict.
func (s *Service) CreateWorkPoolQueue(ctx context.Context, r *orchv1.CreateWorkPoolQueueRequest) (*orchv1.WorkQueue, error) {
	ws, pool, err := s.locate(ctx, r.GetWorkPoolName())
	if err != nil {
		return nil, err
	}
	queue, err := s.createQueue(ctx, ws, pool, r.GetWorkQueue())
	if errors.Is(err, store.ErrDuplicate) {
		return nil, rpc.Detail(http.StatusConflict, fmt.Sprintf("A work queue with this name already exists in work pool %q.", pool.GetName()))
	}
	return queue, err
}

// CreateWorkQueue stores a queue of the pool of agents.
func (s *Service) CreateWorkQueue(ctx context.Context, r *orchv1.CreateWorkQueueRequest) (*orchv1.WorkQueue, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := s.agents(ctx, info.Workspace)
	if err != nil {
		return nil, err
	}
	create := proto.CloneOf(r.GetWorkQueue())
	if create.Description == nil { // The older API defaults to an empty description.
		create.Description = new("")
	}
	queue, err := s.createQueue(ctx, info.Workspace, pool, create)
	if errors.Is(err, store.ErrDuplicate) {
		return nil, rpc.Detail(http.StatusConflict, "A work queue with this name already exists.")
	}
	return queue, err
}

// newQueue is the queue that was requested.
func newQueue(s *store.Store, pool string, create *orchv1.WorkQueueCreate) *orchv1.WorkQueue {
	queue := &orchv1.WorkQueue{
		Id:               s.NewID().String(),
		Name:             create.GetName(),
		Description:      create.Description,
		IsPaused:         create.GetIsPaused(),
		ConcurrencyLimit: create.ConcurrencyLimit,
		WorkPoolId:       &pool,
		Filter:           create.Filter,
		Status:           orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_NOT_READY.Enum(),
	}
	if queue.GetIsPaused() {
		queue.Status = orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_PAUSED.Enum()
	}
	return queue
}

// createQueue stores a queue and ranks it. The error matches store.ErrDuplicate when the name is taken.
func (p *Pools) createQueue(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool, create *orchv1.WorkQueueCreate) (*orchv1.WorkQueue, error) {
	poolID, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return nil, err
	}
	queue := newQueue(p.queues.Store(), pool.GetId(), create)
	created, err := p.queueEvent(ws, queue, pool, "created", nil)
	if err != nil {
		return nil, err
	}
	if err := p.queues.Insert(ctx, ws, queue, created); err != nil {
		return nil, err
	}
	ranked, err := p.rank(ctx, ws, poolID, queue.GetId(), create.Priority)
	if errors.Is(err, store.ErrNotFound) {
		// The pool was deleted meanwhile, and its queues with it, maybe before this one was there.
		return nil, errors.Join(poolNotFound(pool.GetName()), p.discard(ctx, ws, queue))
	}
	if err != nil {
		return nil, err
	}
	present(queue, ranked)
	if queue.ConcurrencyLimit != nil {
		queue.ActiveSlots = new(int64(0))
	}
	p.notify(ws, poolID)
	return queue, nil
}

// rank gives a queue a priority; nil is the first that is free.
func (p *Pools) rank(ctx context.Context, ws, pool uuid.UUID, queue string, priority *int64) (*orchv1.WorkPool, error) {
	return p.pools.Mutate(ctx, ws, pool, store.Edit(func(next *orchv1.WorkPool) error {
		others := without(next.GetPriorities(), queue)
		at := firstFree(others)
		if priority != nil {
			at = *priority
		}
		next.Priorities = setPriority(others, queue, at)
		return nil
	}, nil))
}
