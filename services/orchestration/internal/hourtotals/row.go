package hourtotals

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// maxRows bounds the rows of an hour. An hour with more is wide: it has none, and is always counted by its documents.
const maxRows = 200

// Row counts documents of one hour that have the same state (or name) and kind of parent.
type Row struct {
	// State is the type of the state, Name its name or that of the event; nil if absent.
	State, Name *string
	// Child says that the run has a parent.
	Child bool
	// Count is the number of documents.
	Count int64
	sums
}

// sums are those of flow runs. Times are in microseconds since the beginning of the hour.
type sums struct {
	// ran is the sum of total_run_time in seconds.
	ran float64
	// since is the sum of the times since which runs are running, latest the greatest of them.
	since, latest int64
	// overdue is the number of runs without a start, expected the sum of their expected times.
	overdue, expected int64
	// lateness is the sum of the delays of started runs, in microseconds.
	lateness int64
}

const running = "RUNNING"

// RunTime is the sum of the estimated run times at a moment, in seconds.
func (r Row) RunTime(h Hour, now time.Time) float64 {
	seconds := r.ran
	if r.State != nil && *r.State == running {
		seconds += float64(r.Count*(now.UnixMicro()-h.Start())-r.since) / 1e6
	}
	return seconds
}

// Lateness is the sum of the delays at a moment, in seconds.
func (r Row) Lateness(h Hour, now time.Time) float64 {
	lateness := r.lateness
	if r.State == nil || !rules.Terminal(rules.StateType(*r.State)) {
		lateness += r.overdue*(now.UnixMicro()-h.Start()) - r.expected
	}
	return float64(lateness) / 1e6
}

// knows reports whether the sums hold at a moment. They do not before the hour has ended, or before a run is running.
func (r Row) knows(h Hour, now time.Time) bool {
	return !now.Before(h.end()) && now.UnixMicro() >= h.Start()+r.latest
}

// The fields of a stored row. Zeros are omitted.
const (
	fieldState, fieldName, fieldChild, fieldCount = "state", "name", "child", "n"
	fieldRan, fieldSince, fieldLatest             = "ran", "since", "latest"
	fieldOverdue, fieldExpected, fieldLate        = "overdue", "expected", "late"
)

func (r Row) append(doc []byte) []byte {
	if r.State != nil {
		doc = bsoncore.AppendStringElement(doc, fieldState, *r.State)
	}
	if r.Name != nil {
		doc = bsoncore.AppendStringElement(doc, fieldName, *r.Name)
	}
	if r.Child {
		doc = bsoncore.AppendBooleanElement(doc, fieldChild, true)
	}
	if r.ran != 0 {
		doc = bsoncore.AppendDoubleElement(doc, fieldRan, r.ran)
	}
	for _, name := range integers {
		if n := *r.integer(name); n != 0 {
			doc = bsoncore.AppendInt64Element(doc, name, n)
		}
	}
	return doc
}

// integers are the names of the integer fields.
var integers = []string{fieldCount, fieldSince, fieldLatest, fieldOverdue, fieldExpected, fieldLate}

// integer returns the integer field with a name; nil if there is none.
func (r *Row) integer(name string) *int64 {
	switch name {
	case fieldCount:
		return &r.Count
	case fieldSince:
		return &r.since
	case fieldLatest:
		return &r.latest
	case fieldOverdue:
		return &r.overdue
	case fieldExpected:
		return &r.expected
	case fieldLate:
		return &r.lateness
	}
	return nil
}

// readRow decodes a stored row.
func readRow(raw bson.Raw) (r Row, err error) {
	elements, err := raw.Elements()
	if err != nil {
		return r, fmt.Errorf("read a row of an hour: %w", err)
	}
	for _, e := range elements {
		switch v := e.Value(); e.Key() {
		case fieldState:
			r.State = text(v)
		case fieldName:
			r.Name = text(v)
		case fieldChild:
			r.Child, _ = v.BooleanOK()
		case fieldRan:
			r.ran = float(v)
		default:
			if n := r.integer(e.Key()); n != nil {
				*n = whole(v)
			}
		}
	}
	return r, nil
}

// text returns a string; nil for another value.
func text(v bson.RawValue) *string {
	if s, ok := v.StringValueOK(); ok {
		return &s
	}
	return nil
}

// whole returns a number without its fraction; 0 for another value.
func whole(v bson.RawValue) int64 {
	if n, ok := v.AsInt64OK(); ok {
		return n
	}
	f, _ := v.DoubleOK()
	return int64(f)
}

// float returns a number as it is; 0 for another value.
func float(v bson.RawValue) float64 {
	if f, ok := v.DoubleOK(); ok {
		return f
	}
	n, _ := v.AsInt64OK()
	return float64(n)
}
