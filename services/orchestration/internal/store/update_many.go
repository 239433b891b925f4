package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// updateBatch bounds the documents of one command of UpdateMany, so each command ends within its time limit.
const updateBatch = 500

// UpdateMany updates all matching documents of a workspace, without decoding them or changing their revisions. It is for
// fields that no decision depends on, such as a name that is stored for lists. The filter must not match what the update has changed:
// so an attempt that ends early makes progress, and the next one continues.
func (s *Store) UpdateMany(ctx context.Context, collection query.Collection, ws uuid.UUID, filter, update bson.D) error {
	documents := s.db.Collection(string(collection))
	begin, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	cursor, err := query.Find(begin, documents, query.Scope(ws, filter), options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}).SetBatchSize(updateBatch))
	if err != nil {
		return fmt.Errorf("find %ss to update: %w", collection, outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var batch []uuid.UUID
	write := func() error {
		some := append(bson.D{{Key: "_id", Value: OneOf(batch)}}, filter...)
		if _, err := documents.UpdateMany(ctx, query.Scope(ws, some), update); err != nil {
			return fmt.Errorf("update %d %ss: %w", len(batch), collection, outage(err))
		}
		batch = batch[:0]
		return nil
	}
	for cursor.Next(ctx) {
		id, err := UUID(cursor.Current.Lookup("_id"))
		if err != nil {
			return err
		}
		if batch = append(batch, id); len(batch) == updateBatch {
			if err := write(); err != nil {
				return err
			}
		}
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("find %ss to update: %w", collection, outage(err))
	}
	if len(batch) == 0 {
		return nil
	}
	return write()
}
