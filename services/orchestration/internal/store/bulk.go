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
	return c.versions(ctx, ws, filter, options.Find().SetProjection(withoutOutbox))
}

func (c *Collection[M]) versions(ctx context.Context, ws uuid.UUID, filter bson.D, opts *options.FindOptionsBuilder) ([]Version[M], error) {
	cursor, err := c.mongo.Find(ctx, query.Scope(ws, filter), opts)
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
	return c.insertAll(ctx, docs)
}

// ReplaceAll changes documents without effects by compare-and-set, in one command. It reports whether all were written.
// If not, another writer won or a unique key exists, and the caller reads and decides again.
func (c *Collection[M]) ReplaceAll(ctx context.Context, ws uuid.UUID, all []Replacement[M]) (complete bool, err error) {
	if len(all) == 0 {
		return true, nil
	}
	models := make([]mongo.WriteModel, len(all))
	for i, r := range all {
		if models[i], err = c.versioned(ws, r.Read.Message, r.Read.Revision, &Change[M]{Message: r.Next}); err != nil {
			return false, err
		}
	}
	return c.updateAll(ctx, models)
}

// Update is a change of a document that was read by FirstOfAll. Its message must not share memory with the one that was
// read.
type Update[M proto.Message] struct {
	Read   Owned[M]
	Change *Change[M]
}

// ChangeAll changes documents of any workspaces by compare-and-set, in one command, and wakes the relay for their effects.
// It reports whether all of them were written. If not, the caller decides anew for each document: which were written is
// unknown.
func (c *Collection[M]) ChangeAll(ctx context.Context, all []Update[M]) (complete bool, err error) {
	if len(all) == 0 {
		return true, nil
	}
	models := make([]mongo.WriteModel, len(all))
	for i, u := range all {
		if models[i], err = c.versioned(u.Read.Workspace, u.Read.Message, u.Read.Revision, u.Change); err != nil {
			return false, err
		}
	}
	complete, err = c.updateAll(ctx, models)
	for _, u := range all {
		id := documentID(u.Read.Message)
		c.recent.forget(id)
		if len(u.Change.Effects) > 0 {
			c.store.relay.Wake(c.Name(), u.Read.Workspace, id, nil, nil)
		}
	}
	return complete, err
}

// versioned is the update of a document that still has the revision at which it was read.
func (c *Collection[M]) versioned(ws uuid.UUID, current M, revision int64, change *Change[M]) (*mongo.UpdateOneModel, error) {
	update, err := c.update(current, change, revision+1)
	if err != nil {
		return nil, fmt.Errorf("change %s: %w", c.Name(), err)
	}
	return mongo.NewUpdateOneModel().SetUpdate(update).SetFilter(atRevision(ws, documentID(current), revision)), nil
}

// updateAll executes updates in one command, and reports whether each of them found its document and no taken key.
func (c *Collection[M]) updateAll(ctx context.Context, models []mongo.WriteModel) (complete bool, err error) {
	result, err := c.mongo.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	taken, refused, err := splitWriteErrors(err)
	if err == nil && len(refused) > 0 {
		err = refused[0].Err
	}
	if err != nil {
		return false, fmt.Errorf("change %d %ss: %w", len(models), c.Name(), outage(err))
	}
	return len(taken) == 0 && result.MatchedCount == int64(len(models)), nil
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
