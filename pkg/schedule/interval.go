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
// clock, the rest is elapsed time. A daily schedule keeps its hour across clock changes; where a change skips that hour, it
// keeps the later one from then on.
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
		next := start.Truncate(time.Microsecond)
		if next.Before(start) {
			next = next.Add(time.Microsecond)
		}
		for at := i.seek(next); at.time.Year() <= lastYear; at = i.step(at) {
			if at.time.Before(next) {
				continue
			}
			if !yield(at.time, nil) {
				return
			}
			next = at.time.Add(time.Microsecond)
		}
	}
}

// occurrence is one time of an interval. Days before the anchor are counted back from it, so each has a negative number; all
// others are numbered 0.
type occurrence struct {
	time   time.Time
	number int64
}

// calendar reports whether the interval is whole days of a wall clock that may change.
func (i *Interval) calendar() bool { return i.every%day == 0 && i.zone != time.UTC }

// seek returns an occurrence from which steps lead to the first one that is not before an instant.
func (i *Interval) seek(from time.Time) occurrence {
	elapsed := from.UnixMicro() - i.anchor.UnixMicro()
	switch {
	case !i.calendar():
		n := elapsed / i.every
		if elapsed < 0 {
			n--
		}
		return occurrence{time: time.UnixMicro(i.anchor.UnixMicro() + n*i.every).In(i.zone)}
	case elapsed >= 0:
		return i.walk(from)
	}
	at := i.before(elapsed / i.every)
	for at.time.After(from) {
		at = i.before(at.number - 1)
	}
	return at
}

// walk follows the days from the anchor. It leaps within the periods between clock changes, and takes single steps across the
// changes, because each may move the hour of all later days.
func (i *Interval) walk(from time.Time) occurrence {
	at := occurrence{time: i.anchor.In(i.zone)}
	for at.time.Before(from) {
		end := from
		if _, change := at.time.ZoneBounds(); !change.IsZero() && change.Before(from) {
			end = change
		}
		steps := dates(at.time, end.In(i.zone))/(i.every/day) - 1
		at.time = i.addDays(at.time, max(1, steps))
	}
	return at
}

// dates is the number of days between the dates of two times.
func dates(from, to time.Time) int64 {
	midnight := func(t time.Time) int64 {
		year, month, d := t.Date()
		return time.Date(year, month, d, 0, 0, 0, 0, time.UTC).Unix()
	}
	return (midnight(to) - midnight(from)) / int64(24*time.Hour/time.Second)
}

// before returns the occurrence of a number, which is not positive.
func (i *Interval) before(number int64) occurrence {
	if number == 0 {
		return occurrence{time: i.anchor.In(i.zone)}
	}
	return occurrence{time: i.addDays(i.anchor, number), number: number}
}

func (i *Interval) step(at occurrence) occurrence {
	if at.number < 0 {
		return i.before(at.number + 1)
	}
	if i.every >= day {
		at.time = i.addDays(at.time, 1)
	}
	at.time = at.time.Add(time.Duration(i.every%day) * time.Microsecond)
	return at
}

// addDays moves a time by the whole days of some intervals, on the wall clock.
func (i *Interval) addDays(t time.Time, intervals int64) time.Time {
	return instant(wall(t, i.zone).AddDate(0, 0, int(i.every/day*intervals)), i.zone, later).In(i.zone)
}
