package hourtotals

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// contents are the rows of an hour as its documents are now.
type contents struct {
	rows []Row
	// expires is the least expire_at of the documents; zero if they do not expire. The database deletes expired documents by itself.
	expires time.Time
}

// group counts the documents of the hours [first, until) in rows. It returns the hours that have any.
//
// It reads the latest versions, also those that no majority has yet: the rows are stored by a later write, and a rollback that
// takes one of these versions back takes the rows back too. A majority read could miss a write whose majority is slow.
func (t *Totals) group(ctx context.Context, ws uuid.UUID, k *Kind, first, until Hour) (map[Hour]*contents, error) {
	ctx, cancel := context.WithTimeout(ctx, groupLimit)
	defer cancel()
	window := Window{first.Start(), until.Start()}
	cursor, err := t.db.RunCommandCursor(ctx, bson.D{
		{Key: "aggregate", Value: string(k.Collection)},
		{Key: "pipeline", Value: []bson.D{
			{{Key: "$match", Value: query.Scope(ws, bson.D{{Key: k.Time, Value: window.filter()}})}},
			{{Key: "$group", Value: k.groups(first)}},
		}},
		{Key: "cursor", Value: bson.D{}},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "local"}}},
	})
	if err != nil {
		return nil, fmt.Errorf("count %ss of hours: %w", k.Collection, err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	found := map[Hour]*contents{}
	for cursor.Next(ctx) {
		hour, row, expires, err := readGroup(cursor.Current, first)
		if err != nil {
			return nil, fmt.Errorf("count %ss of hours: %w", k.Collection, err)
		}
		c := found[hour]
		if c == nil {
			c = &contents{}
			found[hour] = c
		}
		if len(c.rows) <= maxRows { // One more says that the hour is wide.
			c.rows = append(c.rows, row)
		}
		if !expires.IsZero() && (c.expires.IsZero() || expires.Before(c.expires)) {
			c.expires = expires
		}
	}
	if err := cursor.Err(); err != nil {
		return nil, fmt.Errorf("count %ss of hours: %w", k.Collection, err)
	}
	return found, nil
}

// groupLimit bounds the count of hours; the driver sends it as maxTimeMS. An hour may have more documents than an operation of a client may read.
const groupLimit = 30 * time.Second

// groups is the specification of the stage that groups documents into rows. Sums of times are relative to the first hour.
func (k *Kind) groups(first Hour) bson.D {
	base := first.Start()
	id := bson.D{
		{Key: "hour", Value: op("$floor", op("$divide", op("$subtract", "$"+k.Time, base), hourMicros))},
		{Key: fieldName, Value: "$" + k.name},
	}
	if k.state != "" {
		id = append(id, bson.E{Key: fieldState, Value: "$" + k.state})
	}
	if k.child != "" {
		id = append(id, bson.E{Key: fieldChild, Value: op("$gt", "$"+k.child, nil)}) // Absence is not greater than null.
	}
	spec := bson.D{{Key: "_id", Value: id}, {Key: fieldCount, Value: op("$sum", int64(1))}}
	if k.lasting {
		runs := op("$eq", "$state.type", running)
		unstarted := op("$eq", op("$ifNull", "$start_time", nil), nil)
		spec = append(spec, bson.D{
			{Key: fieldRan, Value: op("$sum", "$total_run_time")},
			{Key: fieldSince, Value: op("$sum", op("$cond", runs, op("$subtract", "$state.timestamp", base), int64(0)))},
			{Key: fieldLatest, Value: op("$max", op("$cond", runs, op("$subtract", "$state.timestamp", base), nil))},
			{Key: fieldOverdue, Value: op("$sum", op("$cond", unstarted, int64(1), int64(0)))},
			{Key: fieldExpected, Value: op("$sum", op("$cond", unstarted, op("$subtract", "$"+k.Time, base), int64(0)))},
			{Key: fieldLate, Value: op("$sum", op("$cond", op("$gt", "$start_time", "$"+k.Time), op("$subtract", "$start_time", "$"+k.Time), int64(0)))},
		}...)
	}
	return append(spec, bson.E{Key: fieldExpires, Value: op("$min", "$expire_at")})
}

// readGroup decodes a group, and makes its times relative to its own hour.
func readGroup(raw bson.Raw, first Hour) (Hour, Row, time.Time, error) {
	row, err := readRow(raw)
	if err != nil {
		return 0, row, time.Time{}, err
	}
	id, ok := raw.Lookup("_id").DocumentOK()
	if !ok {
		return 0, row, time.Time{}, errID
	}
	key, err := readRow(id)
	if err != nil {
		return 0, row, time.Time{}, err
	}
	row.State, row.Name, row.Child = key.State, key.Name, key.Child
	after := Hour(whole(id.Lookup("hour")))
	shift := after.Start()
	row.expected -= row.overdue * shift
	if row.State != nil && *row.State == running {
		row.since -= row.Count * shift
		row.latest -= shift
	}
	var expires time.Time
	if at, ok := raw.Lookup(fieldExpires).DateTimeOK(); ok {
		expires = time.UnixMilli(at)
	}
	return first + after, row, expires, nil
}

// op returns an expression; one operand is passed alone, several as a list.
func op(name string, operands ...any) bson.D {
	if len(operands) == 1 {
		return bson.D{{Key: name, Value: operands[0]}}
	}
	return bson.D{{Key: name, Value: bson.A(operands)}}
}
