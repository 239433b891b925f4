package hourtotals

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// candidate is an hour that a counter may count.
type candidate struct {
	hour Hour
	// read is the document before the count; nil if there was none.
	read *document
}

// settled reports whether an hour is over for so long that counters may count it.
func settled(h Hour, now time.Time) bool { return !now.Before(h.end().Add(settledAfter)) }

// mayCount reports whether a counter may count the hour of a document: no write relies on its last opening.
func (d *document) mayCount(now time.Time) bool {
	return !now.Before(time.UnixMicro(d.openUntil).Add(margin))
}

// countHours counts consecutive hours, and stores those that nobody opened meanwhile. now is a time before their documents were read.
// It returns the number of stored hours.
func (t *Totals) countHours(ctx context.Context, ws uuid.UUID, k *Kind, hours []candidate, now time.Time) (int, error) {
	models, err := t.count(ctx, ws, k, hours, now)
	if err != nil {
		return 0, err
	}
	return t.store(ctx, k, models)
}

// count counts consecutive hours, and returns the updates that store them.
func (t *Totals) count(ctx context.Context, ws uuid.UUID, k *Kind, hours []candidate, now time.Time) ([]mongo.WriteModel, error) {
	found, err := t.group(ctx, ws, k, hours[0].hour, hours[len(hours)-1].hour+1)
	if err != nil {
		return nil, err
	}
	var models []mongo.WriteModel
	for _, c := range hours {
		content := found[c.hour]
		if content == nil {
			content = &contents{}
		}
		if !content.expires.IsZero() && !now.Before(content.expires) {
			continue // The database is about to delete some of the documents.
		}
		models = append(models, t.closing(ws, k, c, content, now))
	}
	return models, nil
}

func (t *Totals) store(ctx context.Context, k *Kind, models []mongo.WriteModel) (int, error) {
	if len(models) == 0 {
		return 0, nil
	}
	result, err := t.hours.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil && !onlyTaken(err) {
		return 0, fmt.Errorf("store %d hours of %ss: %w", len(models), k.Collection, err)
	}
	if result == nil {
		return 0, nil
	}
	return int(result.ModifiedCount + result.UpsertedCount), nil
}

// closing is the update that stores the contents of an hour unless its document has changed. An insertion fails if there is one now.
func (t *Totals) closing(ws uuid.UUID, k *Kind, c candidate, content *contents, now time.Time) *mongo.UpdateOneModel {
	filter := bson.D{{Key: "_id", Value: idOf(ws, k, c.hour)}}
	absent := bson.D{{Key: "$exists", Value: false}}
	for _, field := range []struct {
		name string
		read func(*document) int64
	}{
		{fieldOpenUntil, func(d *document) int64 { return d.openUntil }}, {fieldCounted, func(d *document) int64 { return d.countedAt }},
	} {
		if c.read == nil || field.read(c.read) == 0 {
			filter = append(filter, bson.E{Key: field.name, Value: absent})
		} else {
			filter = append(filter, bson.E{Key: field.name, Value: field.read(c.read)})
		}
	}
	set := bson.D{{Key: fieldCounted, Value: now.UnixMicro()}}
	unset := bson.D{}
	if len(content.rows) > maxRows {
		set, unset = append(set, bson.E{Key: fieldWide, Value: true}), append(unset, bson.E{Key: fieldRows, Value: ""})
	} else {
		set, unset = append(set, bson.E{Key: fieldRows, Value: encodeRows(content.rows)}), append(unset, bson.E{Key: fieldWide, Value: ""})
	}
	if content.expires.IsZero() {
		unset = append(unset, bson.E{Key: fieldExpires, Value: ""})
	} else {
		set = append(set, bson.E{Key: fieldExpires, Value: content.expires})
	}
	update := bson.D{{Key: "$set", Value: set}, {Key: "$unset", Value: unset}}
	return mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(update).SetUpsert(c.read == nil)
}

func encodeRows(rows []Row) bson.RawValue {
	start, array := bsoncore.AppendArrayStart(nil)
	for i, r := range rows {
		var row int32
		row, array = bsoncore.AppendDocumentElementStart(array, strconv.Itoa(i))
		array, _ = bsoncore.AppendDocumentEnd(r.append(array), row)
	}
	array, _ = bsoncore.AppendArrayEnd(array, start)
	return bson.RawValue{Type: bson.TypeArray, Value: array}
}

// onlyTaken reports whether a bulk write failed only because documents exist.
func onlyTaken(err error) bool {
	var bulk mongo.BulkWriteException
	if !errors.As(err, &bulk) || bulk.WriteConcernError != nil {
		return false
	}
	for _, e := range bulk.WriteErrors {
		if !mongo.IsDuplicateKeyError(e.WriteError) {
			return false
		}
	}
	return true
}
