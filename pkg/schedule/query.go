package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Query requests the times of a schedule. Its JSON is {"schedule": definition, "start": time, "n": count, "end": time}, or
// {"expr": cron, "tz": zone, "start": time}; other keys are ignored.
type Query struct {
	Schedule json.RawMessage `json:"schedule"`
	Start    string          `json:"start"`
	N        *int            `json:"n"`
	End      string          `json:"end"`

	Expr *string           `json:"expr"`
	Zone string            `json:"tz"`
	Next []json.RawMessage `json:"next"` // The expected times; as many are returned.
}

// maxTimes bounds the times of one query.
const maxTimes = 1000

// defaultTimes is the number of times that a query of the short form returns.
const defaultTimes = 3

// Times returns the times of a query: at most n times, or one without n and end. An interval without an anchor starts now.
func (q Query) Times(now time.Time) ([]time.Time, error) {
	definition, n := q.Schedule, 1
	if q.Expr != nil {
		var err error
		if definition, err = json.Marshal(map[string]string{"cron": *q.Expr, "timezone": q.Zone}); err != nil {
			return nil, fmt.Errorf("encode a cron schedule: %w", err)
		}
		n = defaultTimes
		if q.Next != nil {
			n = len(q.Next)
		}
	}
	s, err := ParseDefinition(definition, now)
	if err != nil {
		return nil, err
	}
	start, end := now, time.Time{}
	if q.Start != "" {
		if start, err = ParseTime(q.Start); err != nil {
			return nil, err
		}
	}
	if q.End != "" {
		if end, err = ParseTime(q.End); err != nil {
			return nil, err
		}
		n = maxTimes
	}
	if q.N != nil {
		n = min(*q.N, maxTimes)
	}
	if q.Expr != nil { // The short form returns the times after its start.
		start = start.Add(time.Microsecond)
	}
	times, err := First(s, start, end, n)
	if _, rule := s.(*RRule); rule && errors.Is(err, ErrTooSparse) {
		return nil, nil // A recurrence rule may have no times; a cron expression must have some.
	}
	return times, err
}

// Format formats a time in UTC, with six digits for a non-zero fraction.
func Format(t time.Time) string {
	if t.Nanosecond() == 0 {
		return t.UTC().Format("2006-01-02T15:04:05Z")
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}
