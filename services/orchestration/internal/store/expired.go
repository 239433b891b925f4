package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Expired selects the documents of a workspace that are older than a time.
type Expired struct {
	// States are the state types of runs, as stored; unused for other documents.
	States []string
	// Before is the time until which documents are expired, exclusively.
	Before time.Time
	// After is a lower bound: older documents were examined before. The zero time means none.
	After time.Time
}

// Filter returns the filter of the documents whose time, the field of this name, is in the window.
func (e Expired) Filter(field string) bson.D {
	window := bson.D{{Key: "$lt", Value: e.Before.UnixMicro()}}
	if !e.After.IsZero() {
		window = append(window, bson.E{Key: "$gte", Value: e.After.UnixMicro()})
	}
	filter := bson.D{{Key: field, Value: window}}
	if len(e.States) > 0 {
		filter = append(bson.D{{Key: "state.type", Value: bson.D{{Key: "$in", Value: e.States}}}}, filter...)
	}
	return filter
}

// Expiry is the result of deleting a batch of expired documents.
type Expiry struct {
	// Deleted is the number of deleted documents.
	Deleted int64
	// More reports that further documents may be expired.
	More bool
	// Reached is the time of the last examined document; no older one is expired. The zero time means unknown.
	Reached time.Time
}

// DeleteOldest deletes the first matching documents in the order of a field, with one command. They must be documents
// without effects.
func DeleteOldest[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, filter bson.D, order string, limit int64) (Expiry, error) {
	var fields []string
	if c.kind != nil {
		fields = []string{c.kind.Time} // For openDocuments.
	}
	found, err := c.keys(ctx, query.Scope(ws, filter), bson.D{{Key: order, Value: 1}}, limit, fields...)
	if err == nil {
		err = c.openDocuments(ctx, found)
	}
	if err != nil || len(found) == 0 {
		return Expiry{}, err
	}
	ids := make(bson.A, len(found))
	for i, doc := range found {
		ids[i] = doc.Lookup("_id")
	}
	result, err := c.mongo.DeleteMany(ctx, query.Scope(ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}))
	if err != nil {
		return Expiry{}, fmt.Errorf("delete %d %ss: %w", len(found), c.Name(), outage(err))
	}
	return Expiry{Deleted: result.DeletedCount, More: int64(len(found)) == limit}, nil
}

// IDs returns the ids of the first matching documents, in no order.
func IDs[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, filter bson.D, limit int64) ([]uuid.UUID, error) {
	found, err := c.keys(ctx, query.Scope(ws, filter), nil, limit)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(found))
	for i, doc := range found {
		if ids[i], err = UUID(doc.Lookup("_id")); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// WithoutEffects is the condition of documents without pending effects.
var WithoutEffects = bson.E{Key: "outbox.at", Value: bson.D{{Key: "$exists", Value: false}}}

// Oldest reads the first matching documents without pending effects, in the order of a field, each with its revision. Only the
// given fields are read. With hinted, it walks the index of the field: the caller knows that most documents match, and the database
// need not compare its indexes for each batch.
func Oldest[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, filter bson.D, order string, hinted bool, fields []string, limit int64,
) ([]Version[M], error) {
	fields = append([]string{"_id", fieldRevision, fieldToken}, fields...)
	if c.kind != nil && !slices.Contains(fields, c.kind.Time) {
		fields = append(fields, c.kind.Time) // For DeleteVersions.
	}
	q := Query{Filter: append(slices.Clone(filter), WithoutEffects), Sort: bson.D{{Key: order, Value: 1}}, Limit: limit, Fields: fields}
	if hinted {
		q.Index = bson.D{{Key: "ws", Value: 1}, {Key: order, Value: 1}, {Key: "_id", Value: 1}}
	}
	return c.versions(ctx, ws, q)
}

// DeleteVersions is Delete for documents that Oldest read, with one command: it moves those that still have their revision
// out of the workspace. They have no pending effects, so the outboxes are complete and their removal loses nothing. It returns their outboxes, removal included, and does not wake the relay: the caller executes the
// effects, and the sweeper what a crash leaves.
func DeleteVersions[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, all []Version[M], effects func(M) []Effect) ([]Outbox, error) {
	if len(all) == 0 {
		return nil, nil
	}
	messages := make([]M, len(all))
	for i, v := range all {
		messages[i] = v.Message
	}
	if err := c.openOf(ctx, ws, messages...); err != nil {
		return nil, fmt.Errorf("delete %d %ss: %w", len(all), c.Name(), err)
	}
	now := c.store.Now()
	boxes, models := make([]Outbox, len(all)), make([]mongo.WriteModel, len(all))
	for i, v := range all {
		id := documentID(v.Message)
		c.versionCache.forget(id)
		boxes[i] = Outbox{DocumentKey: DocumentKey{Workspace: ws, ID: id}, Effects: traced(ctx, append(effects(v.Message), c.removal(now)))}
		models[i] = mongo.NewUpdateOneModel().SetFilter(v.revision().filter(ws)).SetUpdate(deletion(v.revision().next(), now, boxes[i].Effects))
	}
	batch := len(models)
	if c.store.sharded {
		batch = 1 // A mongos moves a document to another shard only alone.
	}
	matched := int64(0)
	for some := range slices.Chunk(models, batch) {
		result, err := c.mongo.BulkWrite(ctx, some, options.BulkWrite().SetOrdered(false))
		if err != nil {
			return nil, fmt.Errorf("delete %d %ss: %w", len(all), c.Name(), outage(err))
		}
		matched += result.MatchedCount
	}
	if matched == int64(len(all)) {
		return boxes, nil
	}
	return c.deleted(ctx, boxes)
}

// deleted returns the outboxes whose documents are in the workspaces of their own ids.
func (c *Collection[M]) deleted(ctx context.Context, boxes []Outbox) ([]Outbox, error) {
	ids := make([]uuid.UUID, len(boxes))
	for i, box := range boxes {
		ids[i] = box.ID
	}
	found, err := c.keys(ctx, bson.D{{Key: "_id", Value: OneOf(ids)}, {Key: "ws", Value: OneOf(ids)}}, nil, 0)
	if err != nil {
		return nil, err
	}
	gone := map[uuid.UUID]bool{}
	for _, doc := range found {
		id, err := UUID(doc.Lookup("_id"))
		if err != nil {
			return nil, err
		}
		gone[id] = true
	}
	moved := boxes[:0]
	for _, box := range boxes {
		if gone[box.ID] {
			moved = append(moved, box)
		}
	}
	return moved, nil
}

// RemoveAll is Remove for several documents, with one command.
func (s *Store) RemoveAll(ctx context.Context, collection query.Collection, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	models := make([]mongo.WriteModel, len(ids))
	for i, id := range ids {
		models[i] = mongo.NewDeleteOneModel().SetFilter(bson.D{{Key: "_id", Value: Binary(id)}, {Key: "ws", Value: Binary(id)}})
	}
	if _, err := s.lazy(collection).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false)); err != nil {
		return fmt.Errorf("remove %d %ss: %w", len(ids), collection, outage(err))
	}
	return nil
}
