package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Envelope fields that record the failures of an outbox. They are absent while no effect has failed.
const (
	fieldAttempts = "outbox_attempts"
	fieldNextAt   = "outbox_next_at"
	fieldBlocked  = "outbox_blocked"
)

var outboxFields = bson.D{
	{Key: "ws", Value: 1}, {Key: "outbox", Value: 1}, {Key: fieldAttempts, Value: 1}, {Key: fieldNextAt, Value: 1}, {Key: fieldBlocked, Value: 1},
}

// Failure records a failed relay of an outbox.
type Failure struct {
	DocumentKey
	// Attempts is the number of consecutive failures.
	Attempts int
	// NextAt is the time of the sweeper's next attempt.
	NextAt time.Time
	// Blocked is the reason why no effect behind the failed one may be executed before its dead letter is retried or
	// discarded. It is empty for other failures. With a reason, NextAt has no meaning.
	Blocked string
}

// Defer records failures with one command. Its write concern is that of Done: a lost record is written again later.
func (s *Store) Defer(ctx context.Context, collection query.Collection, failures ...Failure) error {
	models := make([]mongo.WriteModel, len(failures))
	for i, f := range failures {
		set := bson.D{{Key: fieldAttempts, Value: int64(f.Attempts)}, {Key: fieldNextAt, Value: f.NextAt.UnixMicro()}}
		if f.Blocked != "" {
			set = bson.D{
				{Key: fieldAttempts, Value: int64(f.Attempts)},
				{Key: fieldNextAt, Value: int64(math.MaxInt64)},
				{Key: fieldBlocked, Value: f.Blocked},
			}
		}
		models[i] = mongo.NewUpdateOneModel().SetFilter(f.filter()).SetUpdate(bson.D{{Key: "$set", Value: set}})
	}
	if _, err := s.lazy(collection).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false)); err != nil {
		return fmt.Errorf("defer the effects of %d %ss: %w", len(failures), collection, outage(err))
	}
	return nil
}

// DueOutbox is a document whose outbox is due.
type DueOutbox struct {
	DocumentKey
	// NextAt is zero for an outbox without a recorded failure.
	NextAt time.Time
}

// Due finds documents with effects that were caused before a time and have no recorded failure: what a crash left. It
// returns at most limit, oldest first.
func (s *Store) Due(ctx context.Context, collection query.Collection, before time.Time, limit int64) ([]DueOutbox, error) {
	filter := bson.D{
		{Key: "outbox.at", Value: bson.D{{Key: "$lt", Value: before.UnixMicro()}}},
		{Key: fieldNextAt, Value: bson.D{{Key: "$exists", Value: false}}},
	}
	return s.due(ctx, collection, filter, options.Find().SetLimit(limit))
}

// DueAgain finds documents whose next attempt is due, ordered by its time: at most limit, after one time and until
// another. It omits the given workspaces.
func (s *Store) DueAgain(
	ctx context.Context, collection query.Collection, after, until time.Time, omit []uuid.UUID, limit int64,
) ([]DueOutbox, error) {
	window := bson.D{{Key: "$lte", Value: until.UnixMicro()}}
	if !after.IsZero() {
		window = append(window, bson.E{Key: "$gt", Value: after.UnixMicro()})
	}
	filter := bson.D{{Key: fieldNextAt, Value: window}}
	if len(omit) > 0 {
		list := make(bson.A, len(omit))
		for i, ws := range omit {
			list[i] = Binary(ws)
		}
		filter = append(filter, bson.E{Key: "ws", Value: bson.D{{Key: "$nin", Value: list}}})
	}
	return s.due(ctx, collection, filter, options.Find().SetLimit(limit).SetSort(bson.D{{Key: fieldNextAt, Value: 1}}))
}

// DueInFuture finds documents with times of the future, which a clock left that has stepped back since: an effect without a
// recorded failure that was caused after a time, or a next attempt after another. It returns at most twice limit.
func (s *Store) DueInFuture(ctx context.Context, collection query.Collection, caused, attempt time.Time, limit int64) ([]DueOutbox, error) {
	fresh, err := s.due(ctx, collection, bson.D{
		{Key: "outbox.at", Value: bson.D{{Key: "$gt", Value: caused.UnixMicro()}}},
		{Key: fieldNextAt, Value: bson.D{{Key: "$exists", Value: false}}},
	}, options.Find().SetLimit(limit))
	if err != nil {
		return nil, err
	}
	failed, err := s.due(ctx, collection, bson.D{ // A blocked document has the maximum.
		{Key: fieldNextAt, Value: bson.D{{Key: "$gt", Value: attempt.UnixMicro()}, {Key: "$lt", Value: int64(math.MaxInt64)}}},
	}, options.Find().SetLimit(limit))
	return append(fresh, failed...), err
}

func (s *Store) due(
	ctx context.Context, collection query.Collection, filter bson.D, opts *options.FindOptionsBuilder,
) ([]DueOutbox, error) {
	opts.SetProjection(bson.D{{Key: "ws", Value: 1}, {Key: fieldNextAt, Value: 1}})
	cursor, err := s.db.Collection(string(collection)).Find(ctx, filter, opts)
	if err != nil {
		return nil, fmt.Errorf("find due outboxes in %s: %w", collection, outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var due []DueOutbox
	for cursor.Next(ctx) {
		var d DueOutbox
		if d.ID, err = UUID(cursor.Current.Lookup("_id")); err != nil {
			return nil, err
		}
		if d.Workspace, err = UUID(cursor.Current.Lookup("ws")); err != nil {
			return nil, err
		}
		if micros, ok := cursor.Current.Lookup(fieldNextAt).AsInt64OK(); ok {
			d.NextAt = time.UnixMicro(micros).UTC()
		}
		due = append(due, d)
	}
	return due, outage(cursor.Err())
}

// Backlog counts the documents of a collection with pending effects, and returns the time of the oldest effect; the
// zero time when there is none.
func (s *Store) Backlog(ctx context.Context, collection query.Collection) (pending int64, oldest time.Time, err error) {
	waiting := bson.D{{Key: "outbox.at", Value: bson.D{{Key: "$gt", Value: int64(0)}}}}
	if pending, err = s.db.Collection(string(collection)).CountDocuments(ctx, waiting); err != nil || pending == 0 {
		return 0, time.Time{}, outage(err)
	}
	doc, err := s.db.Collection(string(collection)).FindOne(ctx, waiting,
		options.FindOne().SetSort(bson.D{{Key: "outbox.at", Value: 1}}).SetProjection(bson.D{{Key: "outbox.at", Value: 1}})).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, time.Time{}, nil // The relay emptied the outboxes meanwhile.
	}
	if err != nil {
		return pending, time.Time{}, outage(err)
	}
	micros, ok := doc.Lookup("outbox", "0", "at").AsInt64OK()
	if !ok {
		return pending, time.Time{}, errors.New("read oldest effect of outbox: no time")
	}
	return pending, time.UnixMicro(micros).UTC(), nil
}
