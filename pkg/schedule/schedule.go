// Package schedule computes the instants at which runs are due: cron expressions, fixed intervals and recurrence rules
// (RFC 5545), each in a time zone.
//
//	definition ──parse──► Schedule ──Times(start)──► instants, lazily
//	                         │
//	                         └──Window──► the next runs of a scheduler's pass
//
// Schedules compute on wall clocks: an expression yields local dates and times, and the zone turns each into an instant.
// A clock change makes some local times exist twice and others not at all:
//
//	kind       local time that exists twice   local time that is skipped
//	cron       the first one                  later by the length of the gap
//	rrule      the first one                  earlier by the length of the gap, if that begins daylight saving time
//	interval   both, below a day; else first  later by the length of the gap
//
// All work is counted, never timed: an expression that matches nothing, or almost nothing, ends with [ErrTooSparse].
package schedule

import (
	"errors"
	"iter"
	"slices"
	"time"
)

var (
	// ErrInvalid is wrapped by every error about a definition that is not a schedule.
	ErrInvalid = errors.New("invalid schedule")
	// ErrTooSparse ends the times of a schedule whose next time was not found within the work allowed.
	ErrTooSparse = errors.New("no time found within the bound on work")
)

// InvalidError is a definition that is not a schedule. It wraps ErrInvalid.
type InvalidError struct {
	// Message is the text that clients of the reference get, Detail the reason.
	Message, Detail string
}

// Error implements error.
func (e *InvalidError) Error() string { return ErrInvalid.Error() + ": " + e.Message + ": " + e.Detail }

// Unwrap returns ErrInvalid.
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// maxWork bounds the periods that one call of Times examines between two instants.
const maxWork = 3_000_000

// lastYear is the last year in which schedules have times.
const lastYear = 9999

// Schedule tells when runs are due. Implementations are immutable and safe for concurrent use.
type Schedule interface {
	// Times yields the instants from start on, start included, in the schedule's zone. Instants ascend, except that a
	// recurrence rule may yield those around a clock change in the order of local times; none is yielded twice. The
	// sequence ends with the schedule, or with one error that wraps ErrTooSparse.
	Times(start time.Time) iter.Seq2[time.Time, error]
	// Location is the schedule's zone.
	Location() *time.Location
}

// First returns at most n instants of a schedule from start on, none after end, in ascending order. A zero end is no end.
// It fails only if it found no instant at all.
func First(s Schedule, start, end time.Time, n int) ([]time.Time, error) {
	var found []time.Time
	if n <= 0 {
		return nil, nil
	}
	for t, err := range s.Times(start) {
		if err != nil {
			if len(found) == 0 {
				return nil, err
			}
			break
		}
		if !end.IsZero() && t.After(end) {
			break
		}
		if found = append(found, t); len(found) == n {
			break
		}
	}
	slices.SortFunc(found, time.Time.Compare)
	return found, nil
}

// Window says how far ahead runs are made.
type Window struct {
	// MinRuns and MinAhead both have to be reached before the window ends.
	MinRuns  int
	MinAhead time.Duration
	// MaxRuns and MaxAhead end the window at once.
	MaxRuns  int
	MaxAhead time.Duration
}

// Within returns the instants of a window that begins at start, in ascending order; instants before start are left out.
func (w Window) Within(s Schedule, start time.Time) ([]time.Time, error) {
	var found []time.Time
	for t, err := range s.Times(start) {
		if err != nil {
			if len(found) == 0 {
				return nil, err
			}
			break
		}
		if t.After(start.Add(w.MaxAhead)) || len(found) >= w.MaxRuns {
			break
		}
		found = append(found, t)
		if len(found) >= w.MinRuns && !t.Before(start.Add(w.MinAhead)) {
			break
		}
	}
	slices.SortFunc(found, time.Time.Compare)
	return found, nil
}
