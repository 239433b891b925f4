package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// RemoveRevisions removes the documents that still have their revision numbers, with one command, and returns the ids that the
// workspace does not have afterwards. It costs a third of DeleteVersions, because the documents carry no effects.
//
// It waits for a majority: the caller then removes the effect that would repeat the call, and deletes the dependents.
func RemoveRevisions[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, all []Revision) (removed []uuid.UUID, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	ids, models := make([]uuid.UUID, len(all)), make([]mongo.WriteModel, len(all))
	for i, one := range all {
		c.versionCache.forget(one.ID)
		ids[i] = one.ID
		models[i] = mongo.NewDeleteOneModel().SetFilter(bson.D{{Key: "_id", Value: Binary(one.ID)}, {Key: "ws", Value: Binary(ws)}, {Key: fieldRevision, Value: one.Revision}})
	}
	if err := c.openMatching(ctx, query.Scope(ws, bson.D{{Key: "_id", Value: OneOf(ids)}})); err != nil {
		return nil, fmt.Errorf("remove %d %ss: %w", len(all), c.Name(), err)
	}
	result, err := c.mongo.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return nil, fmt.Errorf("remove %d %ss: %w", len(all), c.Name(), outage(err))
	}
	if result.DeletedCount == int64(len(all)) {
		return ids, nil
	}
	found, err := c.keys(ctx, bson.D{{Key: "_id", Value: OneOf(ids)}, {Key: "ws", Value: Binary(ws)}}, nil, 0)
	if err != nil {
		return nil, err
	}
	left := make(map[uuid.UUID]bool, len(found))
	for _, doc := range found {
		id, err := UUID(doc.Lookup("_id"))
		if err != nil {
			return nil, err
		}
		left[id] = true
	}
	for _, id := range ids {
		if !left[id] {
			removed = append(removed, id)
		}
	}
	return removed, nil
}
