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
	"google.golang.org/protobuf/proto"

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

// EachAcross calls visit with the matching documents of all workspaces, in order, until it returns an error. A document that visit moves
// within that order may be visited again.
func (c *Collection[M]) EachAcross(ctx context.Context, q Query, visit func(ws uuid.UUID, m M) error) error {
	return c.scan(ctx, q, c.decodings(ctx), func(one Owned[M]) error { return visit(one.Workspace, one.Message) })
}

// EachRevision is EachAcross for a visit that needs the revisions.
func EachRevision[M proto.Message](ctx context.Context, c *Collection[M], q Query, visit func(one Owned[M]) error) error {
	return c.scan(ctx, q, c.decodings(ctx), visit)
}

// EachOwner calls visit with the workspace of each matching document, in no order. It reads no documents.
func EachOwner[M proto.Message](ctx context.Context, c *Collection[M], filter bson.D, visit func(ws uuid.UUID)) error {
	cursor, err := c.scanning(ctx, alive(filter), c.options(Query{Fields: []string{"ws"}}))
	decoding := c.decodings(ctx)
	err = each(ctx, cursor, err, func(raw bson.Raw) (bool, error) {
		ws, err := UUID(raw.Lookup("ws"))
		if err != nil {
			return true, decoding.Record(err)
		}
		visit(ws)
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("scan the workspaces of %ss: %w", c.Name(), err)
	}
	return nil
}

// AllAcross reads the matching documents of all workspaces, in no order. It fails if one of them cannot be decoded.
func AllAcross[M proto.Message](ctx context.Context, c *Collection[M], filter bson.D) ([]Owned[M], error) {
	decoding := c.decodings(ctx)
	found, err := c.collect(ctx, Query{Filter: filter}, decoding)
	return found, cmp.Or(err, decoding.Err())
}

// FindAcross reads the first matching documents of all workspaces, in order. It returns fewer than the query's limit only if there are no
// more that can be decoded.
func (c *Collection[M]) FindAcross(ctx context.Context, q Query) ([]Owned[M], error) {
	limit := q.Limit
	for omitted := 0; ; {
		decoding := c.decodings(ctx)
		found, err := c.collect(ctx, q, decoding)
		if err != nil || limit == 0 || decoding.Failures() <= omitted {
			return found, err
		}
		omitted = decoding.Failures()
		q.Limit = limit + int64(omitted)
	}
}

func (c *Collection[M]) collect(ctx context.Context, q Query, decoding *isolation.Pass) (found []Owned[M], err error) {
	err = c.scan(ctx, q, decoding, func(one Owned[M]) error {
		found = append(found, one)
		return nil
	})
	return found, err
}

// decodings begins to record documents that cannot be decoded.
func (c *Collection[M]) decodings(ctx context.Context) *isolation.Pass {
	return c.store.Pass(ctx, "decode "+string(c.Name())+" documents")
}

func (c *Collection[M]) scan(ctx context.Context, q Query, decoding *isolation.Pass, visit func(one Owned[M]) error) error {
	cursor, err := c.scanning(ctx, alive(q.Filter), c.options(q))
	err = each(ctx, cursor, err, func(raw bson.Raw) (bool, error) {
		ws, m, err := c.decodeOwned(raw)
		if err != nil {
			id, _ := UUID(raw.Lookup("_id")) // For the log alone.
			return true, decoding.Record(err, "workspace", ws, "id", id)
		}
		r := revisionOf(uuid.Nil, raw)
		return true, visit(Owned[M]{ws, m, r.Revision, r.Token})
	})
	if err != nil {
		return fmt.Errorf("scan %ss of all workspaces: %w", c.Name(), err)
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
func (c *Collection[M]) scanning(ctx context.Context, filter any, o *options.FindOptionsBuilder) (*mongo.Cursor, error) {
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
	m, err := c.Decode(raw)
	return ws, m, err
}
