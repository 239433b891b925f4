package store

import (
	"context"
	"fmt"
	"math"
	"slices"
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

// Defer records the failures of outboxes with effects, with one command. Its write concern is that of Done: a lost record is written again later.
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
		// Another process may have executed the effects meanwhile. A record would delay the next ones.
		var pending bson.D
		if err := bson.Unmarshal(f.filter(), &pending); err != nil {
			return fmt.Errorf("defer the effects of %d %ss: %w", len(failures), collection, err)
		}
		pending = append(pending, bson.E{Key: "outbox.0", Value: bson.D{{Key: "$exists", Value: true}}})
		models[i] = mongo.NewUpdateOneModel().SetFilter(pending).SetUpdate(bson.D{{Key: "$set", Value: set}})
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
	// Oldest is when the oldest effect was caused.
	Oldest time.Time
}

// caused is the filter of the outboxes without a recorded failure whose effects were caused within a window of time. The index of
// outboxes has them before the others, in the order of that time; a sort would cost as much as all of them.
func caused(window bson.D) bson.D {
	return bson.D{{Key: fieldNextAt, Value: nil}, {Key: "outbox.at", Value: window}}
}

// Due finds documents with effects that were caused before a time and have no recorded failure: what a crash or an outage left. It
// returns at most limit, oldest first.
func (s *Store) Due(ctx context.Context, collection query.Collection, before time.Time, limit int64) ([]DueOutbox, error) {
	return s.DueBetween(ctx, collection, time.Time{}, before, limit)
}

// DueBetween is Due for effects that were caused after a time, unless that is zero.
func (s *Store) DueBetween(ctx context.Context, collection query.Collection, after, before time.Time, limit int64) ([]DueOutbox, error) {
	if after.IsZero() {
		return s.due(ctx, collection, caused(bson.D{{Key: "$lt", Value: before.UnixMicro()}}), options.Find().SetLimit(limit))
	}
	// Of two conditions on a list, each may hold for another element, so an index is read by one of them only. By the lower one a page
	// costs the same however many came before it.
	found, err := s.due(ctx, collection, caused(bson.D{{Key: "$gt", Value: after.UnixMicro()}}), options.Find().SetLimit(limit))
	return slices.DeleteFunc(found, func(d DueOutbox) bool { return !d.Oldest.Before(before) }), err
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
func (s *Store) DueInFuture(ctx context.Context, collection query.Collection, after, attempt time.Time, limit int64) ([]DueOutbox, error) {
	fresh, err := s.due(ctx, collection, caused(bson.D{{Key: "$gt", Value: after.UnixMicro()}}), options.Find().SetLimit(limit))
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
	opts.SetProjection(bson.D{{Key: "ws", Value: 1}, {Key: fieldNextAt, Value: 1}, {Key: "outbox.at", Value: 1}})
	cursor, err := query.Find(ctx, s.db.Collection(string(collection)), filter, opts)
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
		d.Oldest = oldestEffect(cursor.Current)
		due = append(due, d)
	}
	return due, outage(cursor.Err())
}

// oldestEffect is when the oldest effect of an outbox was caused; the zero time if it is empty.
func oldestEffect(doc bson.Raw) time.Time {
	box, _ := doc.Lookup("outbox").ArrayOK()
	values, err := box.Values()
	if err != nil {
		return time.Time{}
	}
	oldest := time.Time{}
	for _, v := range values {
		effect, _ := v.DocumentOK()
		if micros, ok := effect.Lookup("at").AsInt64OK(); ok && (oldest.IsZero() || micros < oldest.UnixMicro()) {
			oldest = time.UnixMicro(micros).UTC()
		}
	}
	return oldest
}

// Backlog counts at most backlogFresh documents with pending effects and no recorded failure, and backlogFailed that have a failure
// recorded: its cost is bounded. Beyond these numbers it regards the failed ones whose next attempt comes first.
const (
	backlogFresh  = 10_000
	backlogFailed = 1_000
)

// Backlog counts the documents of a collection with pending effects, up to a bound, and returns when the oldest effect was caused;
// the zero time when there is none.
func (s *Store) Backlog(ctx context.Context, collection query.Collection) (pending int64, oldest time.Time, err error) {
	waiting := caused(bson.D{{Key: "$gt", Value: int64(0)}})
	if pending, err = s.count(ctx, collection, waiting, backlogFresh); err != nil {
		return 0, time.Time{}, err
	}
	first, err := s.due(ctx, collection, waiting, options.Find().SetLimit(1))
	if err != nil {
		return pending, time.Time{}, err
	}
	if len(first) == 0 {
		pending = 0 // The relay emptied the outboxes meanwhile.
	}
	failed, err := s.DueAgain(ctx, collection, time.Time{}, time.UnixMicro(math.MaxInt64), nil, backlogFailed)
	for _, d := range append(first, failed...) {
		if !d.Oldest.IsZero() && (oldest.IsZero() || d.Oldest.Before(oldest)) {
			oldest = d.Oldest
		}
	}
	return pending + int64(len(failed)), oldest, err
}
