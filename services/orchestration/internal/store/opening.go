package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// The methods below open the hours of documents before each write that changes what package hourtotals counts. A collection without
// hour totals has no kind, and opens nothing.

// openOf opens the hours of messages of a workspace.
func (c *Collection[M]) openOf(ctx context.Context, ws uuid.UUID, messages ...M) error {
	if c.kind == nil {
		return nil
	}
	return c.openAt(ctx, ws, c.times(messages...))
}

// times returns the times that decide the hours of messages, in microseconds.
func (c *Collection[M]) times(messages ...M) []int64 {
	times := make([]int64, 0, len(messages))
	for _, m := range messages {
		if at, ok := timeOf(m, c.kind.Time); ok {
			times = append(times, at)
		}
	}
	return times
}

func (c *Collection[M]) openAt(ctx context.Context, ws uuid.UUID, times []int64) error {
	if err := c.store.totals.Open(ctx, ws, c.kind, times...); err != nil {
		return outage(err)
	}
	return nil
}

// prepareChange does what precedes a change: it adds another name to the dictionary, and opens hours if rows depend on what differs.
func (c *Collection[M]) prepareChange(ctx context.Context, ws uuid.UUID, from, to M) error {
	if err := c.nameChange(ctx, ws, from, to); err != nil {
		return err
	}
	return c.openChange(ctx, ws, from, to)
}

// openChange is openOf for a change, which opens nothing if rows do not depend on what differs.
func (c *Collection[M]) openChange(ctx context.Context, ws uuid.UUID, from, to M) error {
	if c.kind == nil {
		return nil
	}
	times := c.times(from, to)
	old, err := c.store.totals.Old(ctx, times...)
	if err != nil {
		return outage(err)
	}
	if !old || !slices.ContainsFunc(differing(from, to), c.kind.Counts) {
		return nil
	}
	return c.openAt(ctx, ws, times)
}

// openDocuments opens the hours of stored documents of any workspaces.
func (c *Collection[M]) openDocuments(ctx context.Context, docs []bson.Raw) error {
	if c.kind == nil {
		return nil
	}
	times := map[uuid.UUID][]int64{}
	for _, doc := range docs {
		at, ok := doc.Lookup(c.kind.Time).AsInt64OK()
		if !ok {
			continue
		}
		ws, err := UUID(doc.Lookup("ws"))
		if err != nil {
			return err
		}
		times[ws] = append(times[ws], at)
	}
	for ws, some := range times {
		if err := c.openAt(ctx, ws, some); err != nil {
			return err
		}
	}
	return nil
}

// openBatch is the number of documents whose hours openMatching opens together.
const openBatch = 1000

// openMatching opens the hours of the documents that a deletion by a filter will remove. A document that matches only later was
// written after the read, by a writer who opened its hour.
func (c *Collection[M]) openMatching(ctx context.Context, filter bson.D) error {
	if c.kind == nil {
		return nil
	}
	opts := options.Find().SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: "ws", Value: 1}, {Key: c.kind.Time, Value: 1}})
	cursor, err := query.Find(ctx, c.mongo, filter, opts)
	if err != nil {
		return fmt.Errorf("find hours of %ss: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	docs := make([]bson.Raw, 0, openBatch)
	for cursor.Next(ctx) {
		if docs = append(docs, slices.Clone(cursor.Current)); len(docs) < openBatch {
			continue
		}
		if err := c.openDocuments(ctx, docs); err != nil {
			return err
		}
		docs = docs[:0]
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("find hours of %ss: %w", c.Name(), outage(err))
	}
	return c.openDocuments(ctx, docs)
}

// timeOf returns a time of a message in microseconds, as it is stored.
func timeOf(m proto.Message, field string) (int64, bool) {
	r := m.ProtoReflect()
	fd := r.Descriptor().Fields().ByName(protoreflect.Name(field))
	if fd == nil || !r.Has(fd) {
		return 0, false
	}
	at, ok := r.Get(fd).Message().Interface().(*timestamppb.Timestamp)
	return at.AsTime().UnixMicro(), ok
}
