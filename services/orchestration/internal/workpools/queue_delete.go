package workpools

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteWorkPoolQueue deletes a queue of a pool. The default queue stays as long as its pool.
func (s *Service) DeleteWorkPoolQueue(ctx context.Context, r *orchv1.DeleteWorkPoolQueueRequest) (*emptypb.Empty, error) {
	ws, queue, err := s.locateQueue(ctx, r.GetWorkPoolName(), r.GetName())
	if err != nil {
		return nil, err
	}
	err = s.deleteQueue(ctx, ws, queue)
	if errors.Is(err, store.ErrNotFound) {
		return nil, queueNotFound(r.GetWorkPoolName(), r.GetName())
	}
	return &emptypb.Empty{}, err
}

// DeleteWorkQueue deletes a queue.
func (s *Service) DeleteWorkQueue(ctx context.Context, r *orchv1.DeleteWorkQueueRequest) (*emptypb.Empty, error) {
	ws, queue, err := s.locateID(ctx, r.GetId())
	if err == nil {
		err = s.deleteQueue(ctx, ws, queue)
	}
	return &emptypb.Empty{}, translateQueue(err)
}

func (p *Pools) deleteQueue(ctx context.Context, ws uuid.UUID, at QueueRef) error {
	if at.Pool.GetDefaultQueueId() == at.Queue.GetId() {
		return rpc.Detail(http.StatusConflict, "The default queue of a work pool cannot be deleted.")
	}
	id, err := resourceid.Parse(at.Queue.GetId())
	if err != nil {
		return err
	}
	poolID, err := resourceid.Parse(at.Pool.GetId())
	if err != nil {
		return err
	}
	err = p.queues.Delete(ctx, ws, id, func(current *orchv1.WorkQueue) ([]store.Effect, error) {
		deleted, err := p.queueEvent(ws, current, at.Pool, "deleted", nil)
		return []store.Effect{deleted, p.queues.Store().ResourceEffect(kindDetach, ws, id)}, err
	})
	if err != nil {
		return err
	}
	_, err = p.pools.Mutate(ctx, ws, poolID, store.Edit(func(next *orchv1.WorkPool) error {
		next.Priorities = without(next.GetPriorities(), at.Queue.GetId())
		return nil
	}, nil))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	p.flush.Flush(ctx, query.WorkQueue, ws, id)
	p.notify(ws, poolID)
	return nil
}
