package schedule

import (
	"fmt"
	"iter"
	"time"
)

// day is the length of a day without a clock change, in microseconds.
const day = int64(24 * time.Hour / time.Microsecond)

// maxInterval bounds an interval, in microseconds: ten thousand years.
const maxInterval = 3_652_500 * day

// Interval is due at an anchor and every so often before and after it. Whole days of an interval are days of the wall
// clock, the rest is elapsed time. The first instant is found by elapsed time alone, as clients expect it: a daily
// schedule anchored in winter starts an hour later in summer.
type Interval struct {
	every  int64 // In microseconds.
	anchor time.Time
	zone   *time.Location
}

// NewInterval returns the schedule of an interval in microseconds, which must be positive.
func NewInterval(every int64, anchor time.Time, zone *time.Location) (*Interval, error) {
	if every <= 0 {
		return nil, fmt.Errorf("%w: interval must be positive", ErrInvalid)
	}
	if every > maxInterval {
		return nil, fmt.Errorf("%w: interval must be at most 10,000 years", ErrInvalid)
	}
	return &Interval{every: every, anchor: anchor, zone: zone}, nil
}

// Location implements Schedule.
func (i *Interval) Location() *time.Location { return i.zone }

// Times implements Schedule.
func (i *Interval) Times(start time.Time) iter.Seq2[time.Time, error] {
	return func(yield func(time.Time, error) bool) {
		// Microseconds of any year up to the last one fit.
		from, anchor := start.UnixMicro(), i.anchor.UnixMicro()
		if start.Nanosecond()%1000 != 0 {
			from++
		}
		next := time.UnixMicro(anchor + (from-anchor)/i.every*i.every).In(i.zone)
		for next.UnixMicro() < from {
			next = i.step(next)
		}
		for next.Year() <= lastYear {
			if !yield(next, nil) {
				return
			}
			next = i.step(next)
		}
	}
}

func (i *Interval) step(t time.Time) time.Time {
	days, rest := i.every/day, i.every%day
	if days > 0 {
		stepped := instant(wall(t, i.zone).AddDate(0, 0, int(days)), i.zone, later)
		t = stepped.In(i.zone)
	}
	return t.Add(time.Duration(rest) * time.Microsecond)
}
