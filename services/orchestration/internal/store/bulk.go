package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Version is a document and the revision at which it was read.
type Version[M proto.Message] struct {
	Message  M
	Revision int64
}

// Replacement is the new content of a document that was read. Next must not share memory with the old message.
type Replacement[M proto.Message] struct {
	Read Version[M]
	Next M
}

// FindVersions reads the matching documents, in no order, each with its revision.
func (c *Collection[M]) FindVersions(ctx context.Context, ws uuid.UUID, filter bson.D) ([]Version[M], error) {
	cursor, err := c.mongo.Find(ctx, query.Scope(ws, filter), options.Find().SetProjection(withoutOutbox))
	if err != nil {
		return nil, fmt.Errorf("read %ss: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var found []Version[M]
	for cursor.Next(ctx) {
		m, err := c.decode(cursor.Current)
		if err != nil {
			return nil, err
		}
		revision, _ := cursor.Current.Lookup("rev").AsInt64OK()
		found = append(found, Version[M]{m, revision})
	}
	if err := cursor.Err(); err != nil {
		return nil, fmt.Errorf("read %ss: %w", c.Name(), outage(err))
	}
	return found, nil
}

// InsertAll inserts documents without effects in one command, and sets their times. It skips documents whose unique
// keys exist, and returns their positions.
func (c *Collection[M]) InsertAll(ctx context.Context, ws uuid.UUID, all []M) (taken []int, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	docs := make([]bson.Raw, len(all))
	for i, m := range all {
		stamp(m, c.store.Now(), true)
		if docs[i], err = envelope(ws, 1, nil, m, time.Time{}); err != nil {
			return nil, fmt.Errorf("insert %s: %w", c.Name(), err)
		}
	}
	return c.insertMany(ctx, docs)
}

// ReplaceAll changes documents without effects by compare-and-set, in one command. It reports whether all were written.
// If not, another writer won or a unique key exists, and the caller reads and decides again.
func (c *Collection[M]) ReplaceAll(ctx context.Context, ws uuid.UUID, all []Replacement[M]) (complete bool, err error) {
	if len(all) == 0 {
		return true, nil
	}
	models := make([]mongo.WriteModel, len(all))
	for i, r := range all {
		update, err := c.update(r.Read.Message, &Change[M]{Message: r.Next}, r.Read.Revision+1)
		if err != nil {
			return false, fmt.Errorf("change %s: %w", c.Name(), err)
		}
		models[i] = mongo.NewUpdateOneModel().SetUpdate(update).SetFilter(bson.D{
			{Key: "_id", Value: Binary(documentID(r.Read.Message))}, {Key: "ws", Value: Binary(ws)}, {Key: "rev", Value: r.Read.Revision},
		})
	}
	result, err := c.mongo.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	taken, err := duplicates(err)
	if err != nil {
		return false, fmt.Errorf("change %d %ss: %w", len(all), c.Name(), outage(err))
	}
	return len(taken) == 0 && result.MatchedCount == int64(len(all)), nil
}

// Occupied reports whether an id belongs to a document outside of the workspace: a deleted one that is not yet removed,
// or one of another workspace.
func (c *Collection[M]) Occupied(ctx context.Context, ws uuid.UUID, id string) (bool, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return false, fmt.Errorf("read id of %s: %w", c.Name(), err)
	}
	n, err := c.mongo.CountDocuments(ctx, bson.D{
		{Key: "_id", Value: Binary(parsed)}, {Key: "ws", Value: bson.D{{Key: "$ne", Value: Binary(ws)}}},
	})
	if err != nil {
		return false, fmt.Errorf("find %s: %w", c.Name(), outage(err))
	}
	return n > 0, nil
}
