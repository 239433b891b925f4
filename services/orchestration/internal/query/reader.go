package query

import (
	"context"
	"errors"
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Reader is the part of the store that queries use. Filters are scoped to a workspace.
type Reader interface {
	// Groups returns distinct values of a field among the matching documents, in no particular order. It stops at a limit. The
	// field is not a list. Documents without the field add no value. Index are the keys of the index that the server reads; empty leaves the
	// choice to it.
	Groups(ctx context.Context, c Collection, index bson.D, field string, filter bson.D, limit int) ([]bson.RawValue, error)
	// Stream yields the matching documents in order. A document is valid until the next iteration. An error ends the
	// stream.
	Stream(ctx context.Context, c Collection, filter bson.D, o StreamOptions) iter.Seq2[bson.Raw, error]
	// Count returns the number of matching documents, and stops at a limit; 0 means none.
	Count(ctx context.Context, c Collection, filter bson.D, limit int64) (int64, error)
	// CountBy is Count by the entries of an index, whose bounds the filter has. An index that does not exist, or is being built, leaves
	// the choice to the server.
	CountBy(ctx context.Context, c Collection, index, filter bson.D, limit int64) (int64, error)
	// Aggregate runs stages on the matching documents and yields the rows. A row is valid until the next iteration.
	Aggregate(ctx context.Context, c Collection, filter bson.D, stages []bson.D) iter.Seq2[bson.Raw, error]
}

// ErrIndexIncomplete reports that the index of StreamOptions is being built.
var ErrIndexIncomplete = errors.New("index is being built")

// StreamOptions select and order the documents of a stream.
type StreamOptions struct {
	Sort  bson.D // Empty: no particular order.
	Skip  int64
	Limit int64 // 0: all.
	// Batch is the number of documents of one reply, for readers that may stop early; 0: as many as a reply holds.
	Batch int
	// First is the number of documents of the first reply; 0: Batch.
	First int
	// Fields are the projected paths, besides _id; empty: whole documents.
	Fields []string
	// Hint are the keys of the index that the server reads; empty leaves the choice to it. An index that does not exist, or is being built,
	// is no hint.
	Hint bson.D
	// Index are the keys of an index whose entries are read instead of documents: one field for each key, dots included. The
	// stream is ErrIndexIncomplete while the index is being built.
	Index bson.D
}

// wholePage is the batch size that reads a page in one round trip; the server's own batches begin with 101.
const wholePage = 1000

// entriesBatch is the batch size for index entries: a few hundred kilobytes.
const entriesBatch = 5000

// NewReader returns a Reader of a database.
func NewReader(db *mongo.Database) Reader { return reader{db: db} }

type reader struct{ db *mongo.Database }

func (r reader) Groups(ctx context.Context, c Collection, index bson.D, field string, filter bson.D, limit int) ([]bson.RawValue, error) {
	docs := r.aggregate(ctx, c, index, filter, groupsOf(field, limit))
	if field == "_id" { // Ids are distinct already.
		docs = r.Stream(ctx, c, filter, StreamOptions{Limit: int64(limit), Fields: []string{"_id"}, Hint: index})
	}
	var values []bson.RawValue
	err := each(docs, func(doc bson.Raw) error {
		if v := doc.Lookup("_id"); v.Type != bson.TypeNull {
			values = append(values, clone(v))
		}
		return nil
	})
	return values, err
}

// groupsOf are the stages that list the values of a field. MongoDB plans them as a skip scan where an index allows it.
func groupsOf(field string, limit int) []bson.D {
	return []bson.D{{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$" + field}}}}, {{Key: "$limit", Value: limit}}}
}

func (r reader) Stream(ctx context.Context, c Collection, filter bson.D, o StreamOptions) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		find := options.Find().SetSkip(o.Skip).SetLimit(o.Limit)
		switch {
		case o.First > 0:
			find.SetBatchSize(int32(o.First))
		case o.Batch > 0:
			find.SetBatchSize(int32(o.Batch))
		case o.Limit > 0 && o.Limit <= wholePage:
			find.SetBatchSize(int32(o.Limit))
		}
		if len(o.Sort) > 0 {
			find.SetSort(o.Sort)
		}
		if len(o.Fields) > 0 {
			fields := make(bson.D, len(o.Fields))
			for i, f := range o.Fields {
				fields[i] = bson.E{Key: f, Value: 1}
			}
			find.SetProjection(fields)
		}
		if len(o.Index) > 0 {
			find.SetHint(o.Index).SetReturnKey(true).SetBatchSize(entriesBatch)
		}
		if len(o.Hint) > 0 {
			find.SetHint(o.Hint)
		}
		cursor, err := Find(ctx, r.db.Collection(string(c)), filter, find)
		if len(o.Hint) > 0 && hintsNoIndex(err) {
			cursor, err = Find(ctx, r.db.Collection(string(c)), filter, find.SetHint(nil))
		}
		if err != nil {
			yield(nil, err)
			return
		}
		// The request may have been cancelled; the cursor must be closed all the same.
		defer func() { _ = cursor.Close(context.WithoutCancel(ctx)) }()
		if o.First > 0 {
			cursor.SetBatchSize(int32(o.Batch))
		}
		for cursor.Next(ctx) {
			if !yield(cursor.Current, nil) {
				return
			}
		}
		if err := cursor.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// badValue is the error code of a hint of an index that does not exist, and of other bad requests.
const badValue = 2

// hintsNoIndex reports whether a command failed because its hint names no index: the index is being built, or another version of the server
// has dropped it.
func hintsNoIndex(err error) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && server.HasErrorCode(badValue) && server.HasErrorMessage("hint provided does not correspond")
}

func (r reader) Count(ctx context.Context, c Collection, filter bson.D, limit int64) (int64, error) {
	o := options.Count()
	if limit > 0 {
		o.SetLimit(limit)
	}
	return r.db.Collection(string(c)).CountDocuments(ctx, filter, o)
}

func (r reader) CountBy(ctx context.Context, c Collection, index, filter bson.D, limit int64) (int64, error) {
	n, err := r.db.Collection(string(c)).CountDocuments(ctx, filter, options.Count().SetLimit(limit).SetHint(index))
	if hintsNoIndex(err) {
		return r.Count(ctx, c, filter, limit)
	}
	return n, err
}

func (r reader) Aggregate(ctx context.Context, c Collection, filter bson.D, stages []bson.D) iter.Seq2[bson.Raw, error] {
	return r.aggregate(ctx, c, nil, filter, stages)
}

// aggregate is Aggregate by an index; without one the server chooses.
func (r reader) aggregate(ctx context.Context, c Collection, index, filter bson.D, stages []bson.D) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		pipeline := append([]bson.D{{{Key: "$match", Value: filter}}}, stages...)
		cursor, err := aggregate(ctx, r.db.Collection(string(c)), pipeline, index)
		if len(index) > 0 && hintsNoIndex(err) {
			cursor, err = Aggregate(ctx, r.db.Collection(string(c)), pipeline)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = cursor.Close(context.WithoutCancel(ctx)) }()
		for cursor.Next(ctx) {
			if !yield(cursor.Current, nil) {
				return
			}
		}
		if err := cursor.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// clone copies a value out of its document.
func clone(v bson.RawValue) bson.RawValue {
	return bson.RawValue{Type: v.Type, Value: append([]byte(nil), v.Value...)}
}
