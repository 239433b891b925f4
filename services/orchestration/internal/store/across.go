package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/isolation"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// The following reads serve background work over all workspaces. Each filter needs an index that does not start with the
// workspace. They leave out a document that cannot be decoded, such as one of a newer version: it is logged and counted, and does
// not end the work on the others. AllAcross is for decisions that need every document.

// Owned is a document with its workspace. Revision and Token are those of the read.
type Owned[M any] struct {
	Workspace uuid.UUID
	Message   M
	Revision  int64
	Token     int64
}

// EachAcross calls visit with the matching documents of all workspaces, in no order, until it returns an error.
func (c *Collection[M]) EachAcross(ctx context.Context, filter bson.D, visit func(ws uuid.UUID, m M) error) error {
	return c.across(ctx, filter, options.Find(), func(ws uuid.UUID, _ Revision, m M) error { return visit(ws, m) })
}

// EachInOrder is EachAcross in the order of an index. A document that visit moves within that order may be visited again.
func (c *Collection[M]) EachInOrder(ctx context.Context, filter, sort bson.D, visit func(ws uuid.UUID, m M) error) error {
	return c.across(ctx, filter, options.Find().SetSort(sort), func(ws uuid.UUID, _ Revision, m M) error { return visit(ws, m) })
}

// EachOfAll calls visit with every document of every workspace, in no order, until it returns an error.
func (c *Collection[M]) EachOfAll(ctx context.Context, visit func(ws uuid.UUID, revision int64, m M) error) error {
	return c.across(ctx, nil, options.Find(), func(ws uuid.UUID, r Revision, m M) error { return visit(ws, r.Revision, m) })
}

// EachWorkspace calls visit with the workspace of each matching document, in no order. It reads no documents.
func (c *Collection[M]) EachWorkspace(ctx context.Context, filter bson.D, visit func(ws uuid.UUID)) error {
	cursor, err := c.scanning(ctx, alive(filter), options.Find().SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: "ws", Value: 1}}))
	if err != nil {
		return fmt.Errorf("scan the workspaces of %ss: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	decoding := c.decodings(ctx)
	for cursor.Next(ctx) {
		ws, err := UUID(cursor.Current.Lookup("ws"))
		if err == nil {
			visit(ws)
		} else if err := decoding.Record(err); err != nil {
			return err
		}
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("scan the workspaces of %ss: %w", c.Name(), outage(err))
	}
	return nil
}

// AllAcross reads the matching documents of all workspaces, in no order. It fails if one of them cannot be decoded.
func (c *Collection[M]) AllAcross(ctx context.Context, filter bson.D) ([]Owned[M], error) {
	decoding := c.decodings(ctx)
	found, err := c.collect(ctx, filter, options.Find(), decoding)
	return found, cmp.Or(err, decoding.Err())
}

// FirstOfAll reads the first matching documents of all workspaces, in order; a limit of 0 means all. It returns fewer than the limit
// only if there are no more that can be decoded.
func (c *Collection[M]) FirstOfAll(ctx context.Context, filter, sort bson.D, limit int64) ([]Owned[M], error) {
	for omitted := 0; ; {
		o := options.Find().SetSort(sort)
		if limit > 0 {
			o.SetLimit(limit + int64(omitted))
		}
		decoding := c.decodings(ctx)
		found, err := c.collect(ctx, filter, o, decoding)
		if err != nil || limit == 0 || decoding.Failures() <= omitted {
			return found, err
		}
		omitted = decoding.Failures()
	}
}

func (c *Collection[M]) collect(ctx context.Context, filter bson.D, o *options.FindOptionsBuilder, decoding *isolation.Pass) (found []Owned[M], err error) {
	err = c.scan(ctx, filter, o, decoding, func(ws uuid.UUID, r Revision, m M) error {
		found = append(found, Owned[M]{ws, m, r.Revision, r.Token})
		return nil
	})
	return found, err
}

// decodings begins to record documents that cannot be decoded.
func (c *Collection[M]) decodings(ctx context.Context) *isolation.Pass {
	return c.store.Pass(ctx, "decode "+string(c.Name())+" documents")
}

func (c *Collection[M]) across(
	ctx context.Context, filter bson.D, o *options.FindOptionsBuilder, visit func(ws uuid.UUID, r Revision, m M) error,
) error {
	return c.scan(ctx, filter, o, c.decodings(ctx), visit)
}

func (c *Collection[M]) scan(
	ctx context.Context, filter bson.D, o *options.FindOptionsBuilder, decoding *isolation.Pass, visit func(ws uuid.UUID, r Revision, m M) error,
) error {
	cursor, err := c.scanning(ctx, alive(filter), o.SetProjection(withoutOutbox))
	if err != nil {
		return fmt.Errorf("scan %ss of all workspaces: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		ws, m, err := c.decodeOwned(cursor.Current)
		if err != nil {
			id, _ := UUID(cursor.Current.Lookup("_id")) // For the log alone.
			if err := decoding.Record(err, "workspace", ws, "id", id); err != nil {
				return err
			}
			continue
		}
		if err := visit(ws, revisionOf(uuid.Nil, cursor.Current), m); err != nil {
			return err
		}
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("scan %ss of all workspaces: %w", c.Name(), outage(err))
	}
	return nil
}

// alive leaves out documents that are deleted and still have effects.
func alive(filter bson.D) bson.D {
	return append(append(bson.D(nil), filter...), bson.E{Key: "deleted_at", Value: bson.D{{Key: "$exists", Value: false}}})
}

// scanLimit bounds the server's work on all batches of a scan. The visits between them do not count.
const scanLimit = time.Minute

// scanning begins a scan, which may take longer than an operation.
func (c *Collection[M]) scanning(ctx context.Context, filter bson.D, o *options.FindOptionsBuilder) (*mongo.Cursor, error) {
	begin, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	return query.Find(begin, c.mongo, filter, o)
}

// decodeOwned decodes a document with its workspace, which it returns with an error too if it is readable.
func (c *Collection[M]) decodeOwned(raw bson.Raw) (uuid.UUID, M, error) {
	var none M
	ws, err := UUID(raw.Lookup("ws"))
	if err != nil {
		return ws, none, err
	}
	m, err := c.decode(raw)
	return ws, m, err
}
