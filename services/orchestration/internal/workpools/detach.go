package workpools

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Deployments and runs hold the id and the name of their queue and pool. So lists and filters need not read the queue.
// The change of a queue is written into them by an effect.
const (
	// kindDetach is the effect that takes a deleted queue from its deployments and runs.
	kindDetach = "work_queue_detach"
	// kindRename is the effect that writes the new name of a queue into its deployments and runs.
	kindRename = "work_queue_rename"
)

// holders are the collections whose documents hold the name of a queue.
var holders = []query.Collection{query.Deployment, query.FlowRun}

// detach takes a queue from its deployments and runs.
func (p *Pools) detach(ctx context.Context, ws, queue uuid.UUID) error {
	filter := bson.D{{Key: "work_queue_id", Value: store.Binary(queue)}}
	for _, collection := range holders {
		err := p.pools.Store().UpdateMany(ctx, collection, ws, filter,
			bson.D{{Key: "$unset", Value: bson.D{
				{Key: "work_queue_id", Value: ""},
				{Key: "work_queue_name", Value: ""},
				{Key: "work_pool_id", Value: ""},
				{Key: "work_pool_name", Value: ""},
			}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// renameRuns writes the names of queues into their deployments and runs, as they are now.
func (p *Pools) renameRuns(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(ws, id uuid.UUID) error {
		queue, err := p.queues.Get(ctx, ws, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil // It was deleted since.
		}
		if err != nil {
			return err
		}
		return p.rename(ctx, ws, id, queue)
	})
}

func (p *Pools) rename(ctx context.Context, ws, id uuid.UUID, queue *orchv1.WorkQueue) error {
	for _, collection := range holders {
		err := p.pools.Store().UpdateMany(ctx, collection, ws,
			bson.D{{Key: "work_queue_id", Value: store.Binary(id)}, {Key: "work_queue_name", Value: bson.D{{Key: "$ne", Value: queue.GetName()}}}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "work_queue_name", Value: queue.GetName()}}}})
		if err != nil {
			return err
		}
	}
	return nil
}
