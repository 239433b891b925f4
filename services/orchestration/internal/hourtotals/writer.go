package hourtotals

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The times of the protocol; see the package's documentation.
const (
	// youngFor is the time after an hour during which writers need not open it.
	youngFor = 10 * time.Minute
	// settledAfter is the time after an hour from which counters may count it.
	settledAfter = 20 * time.Minute
	// openFor is how long an opening holds, remembered how long a process relies on it.
	openFor    = 120 * time.Second
	remembered = 30 * time.Second
	// margin is the time between the end of an opening and a count.
	margin = 10 * time.Second
	// maxRemembered bounds the openings in memory, 100 bytes each.
	maxRemembered = 10_000
)

// Clock tells the time of the database's primary.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// Writer opens hours before writes.
type Writer struct {
	hours *mongo.Collection
	clock Clock

	mu     sync.Mutex
	opened map[opening]time.Time // When this process opened an hour last.
}

type opening struct {
	ws   uuid.UUID
	code byte
	hour Hour
}

// Old reports whether a write to documents of one of these times, in microseconds, needs an opening. Most writes need none.
func (w *Writer) Old(ctx context.Context, times ...int64) (bool, error) {
	if len(times) == 0 {
		return false, nil
	}
	now, err := w.clock.Now(ctx)
	if err != nil {
		return false, err
	}
	return HourOf(slices.Min(times)) < young(now), nil
}

// young is the first hour that needs no opening.
func young(now time.Time) Hour { return HourOf(now.Add(-youngFor).UnixMicro()) }

// Open opens the hours of documents that a write is about to change: those of their times before and after, in microseconds. The
// write must begin at once. Each attempt of a write calls Open.
func (w *Writer) Open(ctx context.Context, ws uuid.UUID, k *Kind, times ...int64) error {
	if len(times) == 0 {
		return nil
	}
	now, err := w.clock.Now(ctx)
	if err != nil {
		return fmt.Errorf("open hours of %ss: %w", k.Collection, err)
	}
	var closed []opening
	first := young(now)
	for _, at := range times {
		if h := HourOf(at); h < first {
			closed = w.lacking(closed, opening{ws, k.code, h}, now)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	update := bson.D{
		{Key: "$max", Value: bson.D{{Key: fieldOpenUntil, Value: now.Add(openFor).UnixMicro()}}},
		{Key: "$unset", Value: bson.D{{Key: fieldRows, Value: ""}, {Key: fieldWide, Value: ""}, {Key: fieldCounted, Value: ""}}},
	}
	models := make([]mongo.WriteModel, len(closed))
	for i, o := range closed {
		models[i] = mongo.NewUpdateOneModel().SetUpsert(true).SetUpdate(update).SetFilter(bson.D{{Key: "_id", Value: idOf(ws, k, o.hour)}})
	}
	_, err = w.hours.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if mongo.IsDuplicateKeyError(err) { // Another process inserted one of them at the same time.
		_, err = w.hours.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	}
	if err != nil {
		return fmt.Errorf("open %d hours of %ss: %w", len(closed), k.Collection, err)
	}
	w.remember(closed, now)
	return nil
}

// lacking appends an hour that this process has not opened lately, once.
func (w *Writer) lacking(to []opening, o opening, now time.Time) []opening {
	if slices.Contains(to, o) {
		return to
	}
	w.mu.Lock()
	at, ok := w.opened[o]
	w.mu.Unlock()
	if ok && now.Sub(at).Abs() < remembered {
		return to
	}
	return append(to, o)
}

func (w *Writer) remember(opened []opening, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.opened)+len(opened) > maxRemembered {
		clear(w.opened)
	}
	for _, o := range opened {
		w.opened[o] = at
	}
}
