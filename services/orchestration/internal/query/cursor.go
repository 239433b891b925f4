package query

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// Find is Collection.Find of the driver with a time limit that reaches the server: that of ctx, else the client's, for the work on all
// batches together. The driver sends no maxTimeMS with commands that return cursors, so a server would work on after its client gave up.
// It reads what a majority has. Options that it does not send are an error.
func Find(ctx context.Context, in *mongo.Collection, filter any, opts *options.FindOptionsBuilder) (*mongo.Cursor, error) {
	var o options.FindOptions
	for _, set := range opts.List() {
		if err := set(&o); err != nil {
			return nil, err
		}
	}
	if empty(filter) {
		filter = bson.D{}
	}
	command := bson.D{{Key: "find", Value: in.Name()}, {Key: "filter", Value: filter}}
	add := func(name string, present bool, value any) {
		if present {
			command = append(command, bson.E{Key: name, Value: value})
		}
	}
	add("sort", !empty(o.Sort), ordering(Collection(in.Name()), filter, o.Sort))
	add("projection", !empty(o.Projection), o.Projection)
	add("hint", o.Hint != nil, o.Hint)
	add("skip", o.Skip != nil && *o.Skip > 0, o.Skip)
	add("limit", o.Limit != nil && *o.Limit > 0, o.Limit)
	add("batchSize", o.BatchSize != nil, o.BatchSize)
	add("returnKey", o.ReturnKey != nil, o.ReturnKey)
	batch := o.BatchSize
	o.Sort, o.Projection, o.Hint, o.Skip, o.Limit, o.BatchSize, o.ReturnKey = nil, nil, nil, nil, nil, nil, nil
	if !reflect.ValueOf(o).IsZero() {
		return nil, fmt.Errorf("find in %s: unsupported options %+v", in.Name(), o)
	}
	return cursor(ctx, in.Database(), command, batch)
}

// empty reports whether an optional document has no fields.
func empty(document any) bool {
	d, ok := document.(bson.D)
	return document == nil || ok && len(d) == 0
}

// Aggregate is Collection.Aggregate of the driver with the time limit of Find.
func Aggregate(ctx context.Context, in *mongo.Collection, pipeline []bson.D) (*mongo.Cursor, error) {
	return aggregate(ctx, in, pipeline, nil)
}

// aggregate is Aggregate by an index; without one the server chooses.
func aggregate(ctx context.Context, in *mongo.Collection, pipeline []bson.D, index bson.D) (*mongo.Cursor, error) {
	batch := int32(wholePage)
	command := bson.D{
		{Key: "aggregate", Value: in.Name()}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: batch}}},
	}
	if len(index) > 0 {
		command = append(command, bson.E{Key: "hint", Value: index})
	}
	return cursor(ctx, in.Database(), command, &batch)
}

// retryable are the server's errors after which another member, or the same one, can execute a read: those of the specification of
// retryable reads.
var retryable = []int{6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436}

func isRetryable(err error) bool {
	var pool driver.RetryablePoolError // Another operation found that the server had become unavailable.
	var server mongo.ServerError
	return mongo.IsNetworkError(err) || errors.As(err, &pool) || errors.As(err, &server) && slices.ContainsFunc(retryable, server.HasErrorCode)
}

// cursor executes a command that returns a cursor. It executes it once more when the server became unavailable, as the driver does with
// its own reads.
func cursor(ctx context.Context, db *mongo.Database, command bson.D, batch *int32) (*mongo.Cursor, error) {
	command = append(command, bson.E{Key: "readConcern", Value: bson.D{{Key: "level", Value: "majority"}}})
	found, err := db.RunCommandCursor(ctx, command)
	if err != nil && ctx.Err() == nil && !mongo.IsTimeout(err) && isRetryable(err) {
		found, err = db.RunCommandCursor(ctx, command)
	}
	if err == nil && batch != nil {
		found.SetBatchSize(*batch)
	}
	return found, err
}
