package workpools

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindDissolve is the effect that deletes the queues and workers of a deleted pool.
const kindDissolve = "work_pool_dissolve"

func translatePool(err error, name string) error {
	if errors.Is(err, store.ErrNotFound) {
		return poolNotFound(name)
	}
	return err
}

// DeleteWorkPool deletes a pool with its queues and workers. Its deployments and runs stay, without a queue.
func (s *Service) DeleteWorkPool(ctx context.Context, r *orchv1.DeleteWorkPoolRequest) (*emptypb.Empty, error) {
	if reserved(r.GetName()) {
		return nil, rpc.Detail(http.StatusForbidden, "Work pools starting with 'Prefect' are reserved for internal use and can not be deleted.")
	}
	ws, pool, err := s.locate(ctx, r.GetName())
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return nil, err
	}
	err = s.pools.Delete(ctx, ws, id, func(current *orchv1.WorkPool) ([]store.Effect, error) {
		deleted, err := s.poolEvent(ws, current, "deleted", nil)
		if err != nil {
			return nil, err
		}
		return []store.Effect{deleted, s.pools.Store().ResourceEffect(kindDissolve, ws, id)}, nil
	})
	if err != nil {
		return nil, translatePool(err, r.GetName())
	}
	s.flush.Flush(ctx, query.WorkPool, ws, id)
	s.notify(ws, id)
	return &emptypb.Empty{}, nil
}

// Handlers returns the effect handlers of this package.
func (p *Pools) Handlers() []outbox.Handler {
	return []outbox.Handler{
		{Kind: kindDissolve, Run: func(ctx context.Context, effects []store.Effect) error {
			return store.EachResource(effects, func(ws, pool uuid.UUID) error { return p.dissolve(ctx, ws, pool) })
		}},
		{Kind: kindDetach, Run: func(ctx context.Context, effects []store.Effect) error {
			return store.EachResource(effects, func(ws, queue uuid.UUID) error { return p.detach(ctx, ws, queue) })
		}},
		{Kind: kindRename, Run: p.renameRuns},
		{Kind: kindCleanup, Run: p.createCleanupJobs},
	}
}

// dissolve deletes the queues and workers of a pool that is gone. Each queue carries its own event, since those of all queues could
// exceed the size of a document.
func (p *Pools) dissolve(ctx context.Context, ws, pool uuid.UUID) error {
	deleted, err := p.pools.Get(ctx, pool, pool) // The workspace of a deleted document is its id.
	if errors.Is(err, store.ErrNotFound) {
		deleted, err = &orchv1.WorkPool{Id: pool.String()}, nil // Its dead letter is retried: the events are without the name.
	}
	if err != nil {
		return err
	}
	members := bson.D{{Key: "work_pool_id", Value: store.Binary(pool)}}
	if err := store.Drain(ctx, p.queues, ws, members, func(queue uuid.UUID) error { return p.deleteQueueOf(ctx, ws, queue, deleted) }); err != nil {
		return err
	}
	return errors.Join(p.workers.DeleteMany(ctx, ws, members), p.cleanups.DeleteMany(ctx, ws, members))
}

// deleteQueueOf deletes a queue of a deleted pool, and takes it from its deployments and runs.
func (p *Pools) deleteQueueOf(ctx context.Context, ws, queue uuid.UUID, pool *orchv1.WorkPool) error {
	if err := p.detach(ctx, ws, queue); err != nil {
		return err
	}
	return p.queues.Delete(ctx, ws, queue, func(current *orchv1.WorkQueue) ([]store.Effect, error) {
		deleted, err := p.queueEvent(ws, current, pool, "deleted", nil)
		return []store.Effect{deleted}, err
	})
}

// discard removes a queue without an event, and takes it from its deployments and runs.
func (p *Pools) discard(ctx context.Context, ws uuid.UUID, queue *orchv1.WorkQueue) error {
	id, err := resourceid.Parse(queue.GetId())
	if err != nil {
		return err
	}
	if err := p.detach(ctx, ws, id); err != nil {
		return err
	}
	return p.queues.DeleteMany(ctx, ws, bson.D{{Key: "_id", Value: store.Binary(id)}})
}
