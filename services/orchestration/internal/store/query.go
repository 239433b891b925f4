package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Query selects documents, and says what of them is read. The zero Query reads all documents of a workspace, in no order.
type Query struct {
	Filter bson.D
	// Sort is the order. nil means the order of Index, or none.
	Sort bson.D
	// Index has the keys of the index to read by, for a caller that knows how few documents it selects. The database chooses for nil,
	// and while that index is being built.
	Index bson.D
	// Offset is the number of documents to skip.
	Offset int64
	// Limit bounds the number of documents; 0 means no limit.
	Limit int64
	// Bytes bounds the size of all documents as they are stored; 0 means no bound.
	Bytes int
	// Fields are read in place of whole documents; none means all fields. Fields that an index has are read from its keys.
	Fields []string
	// Without are the fields that are not read.
	Without []string
}

// MaxAnswerBytes bounds reads for an answer without pages, as the documents are stored.
const MaxAnswerBytes = 32 << 20

// maxBatch bounds the documents of one batch of a cursor.
const maxBatch = 1000

// withoutOutbox excludes the outbox, which readers never need and which may be long.
var withoutOutbox = func() bson.Raw {
	doc, err := bson.Marshal(bson.D{{Key: "outbox", Value: 0}})
	if err != nil {
		panic(err)
	}
	return doc
}()

// projection returns the fields to read. The outbox is never among them.
func (q Query) projection() any {
	switch {
	case len(q.Fields) > 0:
		fields := make(bson.D, 0, len(q.Fields)+1)
		for _, name := range q.Fields {
			fields = append(fields, bson.E{Key: name, Value: 1})
		}
		if !slices.Contains(q.Fields, "_id") {
			fields = append(fields, bson.E{Key: "_id", Value: 0})
		}
		return fields
	case len(q.Without) > 0:
		fields := bson.D{{Key: "outbox", Value: 0}}
		for _, name := range q.Without {
			fields = append(fields, bson.E{Key: name, Value: 0})
		}
		return fields
	}
	return withoutOutbox
}

// options returns the options of the command that reads a query.
func (c *Collection[M]) options(q Query) *options.FindOptionsBuilder {
	opts := options.Find().SetProjection(q.projection()).SetSkip(q.Offset).SetBatchSize(maxBatch)
	if q.Limit > 0 {
		opts.SetLimit(q.Limit).SetBatchSize(int32(min(q.Limit, maxBatch)))
	}
	sort := q.Sort
	if q.Index != nil {
		if !c.store.incomplete.has(c.Name()) {
			opts.SetHint(q.Index)
		} else if sort == nil {
			sort = q.Index
		}
	}
	if sort != nil {
		opts.SetSort(sort)
	}
	return opts
}

// Get reads a document by its id, or returns ErrNotFound.
func (c *Collection[M]) Get(ctx context.Context, ws, id uuid.UUID) (M, error) {
	m, _, err := c.byID(ctx, c.mongo, ws, id)
	return m, err
}

// First reads a matching document, or returns ErrNotFound.
func (c *Collection[M]) First(ctx context.Context, ws uuid.UUID, filter bson.D) (M, error) {
	raw, err := c.firstRaw(ctx, c.mongo, ws, filter, options.FindOne().SetProjection(withoutOutbox))
	if err != nil {
		var none M
		return none, err
	}
	return c.Decode(raw)
}

// Find reads the matching documents, in order. It returns ErrTooLargeAnswer if they are larger than the query allows.
func (c *Collection[M]) Find(ctx context.Context, ws uuid.UUID, q Query) (found []M, err error) {
	size := 0
	err = c.read(ctx, ws, q, func(raw bson.Raw) (bool, error) {
		if size += len(raw); q.Bytes > 0 && size > q.Bytes {
			return false, ErrTooLargeAnswer
		}
		m, err := c.Decode(raw)
		found = append(found, m)
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("find %ss: %w", c.Name(), err)
	}
	return found, nil
}

// Page reads the first matching documents, in order: at least one, and no more than the query allows. It reports whether there are more.
func (c *Collection[M]) Page(ctx context.Context, ws uuid.UUID, q Query) (found []M, more bool, err error) {
	size, limit := 0, q.Limit
	if limit > 0 {
		q.Limit++
	}
	err = c.read(ctx, ws, q, func(raw bson.Raw) (bool, error) {
		size += len(raw)
		if more = limit > 0 && int64(len(found)) == limit || q.Bytes > 0 && size > q.Bytes && len(found) > 0; more {
			return false, nil
		}
		m, err := c.Decode(raw)
		found = append(found, m)
		return true, err
	})
	if err != nil {
		return nil, false, fmt.Errorf("find %ss: %w", c.Name(), err)
	}
	return found, more, nil
}

// Each calls visit with the matching documents, in order, until it returns false. It may take longer than an operation.
func (c *Collection[M]) Each(ctx context.Context, ws uuid.UUID, q Query, visit func(M) bool) error {
	cursor, err := c.scanning(ctx, query.Scope(ws, q.Filter), c.options(q))
	err = each(ctx, cursor, err, func(raw bson.Raw) (bool, error) {
		m, err := c.Decode(raw)
		return err == nil && visit(m), err
	})
	if err != nil {
		return fmt.Errorf("scan %ss: %w", c.Name(), err)
	}
	return nil
}

// EachRaw calls visit with the matching documents as they are stored, in order, until it returns false. The bytes are valid until visit
// returns.
func EachRaw[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, q Query, visit func(bson.Raw) bool) error {
	err := c.read(ctx, ws, q, func(raw bson.Raw) (bool, error) { return visit(raw), nil })
	if err != nil {
		return fmt.Errorf("read fields of %ss: %w", c.Name(), err)
	}
	return nil
}

// read calls visit with the matching documents, in order, until it returns false.
func (c *Collection[M]) read(ctx context.Context, ws uuid.UUID, q Query, visit func(bson.Raw) (bool, error)) error {
	cursor, err := query.Find(ctx, c.mongo, query.Scope(ws, q.Filter), c.options(q))
	return each(ctx, cursor, err, visit)
}

// each calls visit with the documents of a cursor until it returns false, and closes the cursor. A begin error is that of the cursor.
func each(ctx context.Context, cursor *mongo.Cursor, begin error, visit func(bson.Raw) (bool, error)) error {
	if begin != nil {
		return outage(begin)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		if more, err := visit(cursor.Current); err != nil || !more {
			return err
		}
	}
	return outage(cursor.Err())
}

// Count counts the matching documents, including all acknowledged writes. It stops at the query's limit, and reads nothing but its filter
// and that limit.
func (c *Collection[M]) Count(ctx context.Context, ws uuid.UUID, q Query) (int64, error) {
	n, err := c.store.count(ctx, c.Name(), query.Scope(ws, q.Filter), q.Limit)
	if err != nil {
		return 0, fmt.Errorf("count %ss: %w", c.Name(), err)
	}
	return n, nil
}

// Distinct returns the distinct texts of a field of the matching documents, in order.
func (c *Collection[M]) Distinct(ctx context.Context, ws uuid.UUID, field string, filter bson.D) ([]string, error) {
	var texts []string
	if err := c.mongo.Distinct(ctx, field, query.Scope(ws, filter)).Decode(&texts); err != nil {
		return nil, fmt.Errorf("find distinct %s of %ss: %w", field, c.Name(), outage(err))
	}
	return texts, nil
}

// Aggregate runs a pipeline over the matching documents, and decodes its rows into the slice that out points to.
func (c *Collection[M]) Aggregate(ctx context.Context, ws uuid.UUID, filter bson.D, stages []bson.D, out any) error {
	pipeline := append([]bson.D{{{Key: "$match", Value: query.Scope(ws, filter)}}}, stages...)
	cursor, err := query.Aggregate(ctx, c.mongo, pipeline)
	if err != nil {
		return fmt.Errorf("aggregate %ss: %w", c.Name(), outage(err))
	}
	if err := cursor.All(ctx, out); err != nil {
		return fmt.Errorf("aggregate %ss: %w", c.Name(), outage(err))
	}
	return nil
}

// GetRaw is Get for a caller that uses the stored document. It is without its outbox.
func GetRaw[M proto.Message](ctx context.Context, c *Collection[M], ws, id uuid.UUID) (bson.Raw, error) {
	return c.rawByID(ctx, c.mongo, ws, id, withoutOutbox)
}

// GetRevision reads a document and its revision, or returns ErrNotFound.
func GetRevision[M proto.Message](ctx context.Context, c *Collection[M], ws, id uuid.UUID) (M, int64, error) {
	m, revision, err := c.byID(ctx, c.mongo, ws, id)
	return m, revision.Revision, err
}

func (c *Collection[M]) firstRaw(
	ctx context.Context, from *mongo.Collection, ws uuid.UUID, filter bson.D, opts *options.FindOneOptionsBuilder,
) (bson.Raw, error) {
	raw, err := from.FindOne(ctx, query.Scope(ws, filter), opts).Raw()
	return c.found(raw, err)
}

// found returns a read document, or the error of its reader in the terms of the store.
func (c *Collection[M]) found(raw bson.Raw, err error) (bson.Raw, error) {
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, fmt.Errorf("read %s: %w", c.Name(), ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.Name(), outage(err))
	}
	return raw, nil
}
