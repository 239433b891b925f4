package schedule

import (
	"iter"
	"math/bits"
	"time"
)

// Cron is due when the wall clock matches an expression. See [ParseCron] for the syntax.
type Cron struct {
	text    string
	zone    *time.Location
	seconds uint64
	minutes uint64
	hours   uint64
	months  uint64
	days    uint64 // Of the month, by number.
	lastDay bool   // Of the month, beside days.
	weekday uint64 // By number, Sunday 0.
	nth     []nthWeekday
	years   map[int]bool // nil is every year.
	anyDay  bool         // The day of the month is a star.
	anyWeek bool         // The day of the week is a star.
	dayOr   bool
	long    bool // With seconds.
}

// nthWeekday is one weekday of a month: its n-th, or its last where n is 0.
type nthWeekday struct{ weekday, n int }

// cronHorizon is how many years a cron expression is searched for its next match. No pattern of weekdays and leap days
// takes longer to come back.
const cronHorizon = 50

// Location implements Schedule.
func (c *Cron) Location() *time.Location { return c.zone }

// Times implements Schedule. A local time that the clocks show twice is due once; one that they skip is due later by the length of the gap.
func (c *Cron) Times(start time.Time) iter.Seq2[time.Time, error] {
	return func(yield func(time.Time, error) bool) {
		local := wall(start, c.zone).Add(-skippedBefore(start, c.zone))
		if local.Nanosecond() > 0 {
			local = local.Truncate(time.Second).Add(time.Second)
		}
		last := start.Add(-1)
		emit := func(t time.Time) bool {
			if !t.After(last) {
				return true
			}
			last = t
			return yield(t, nil)
		}
		var moved []time.Time // Skipped local times, which are due among those behind the gap.
		for {
			match, ok := c.next(local)
			local = match.Add(time.Second)
			t := instant(match, c.zone, later)
			if ok && !wall(t, c.zone).Equal(match) {
				moved = append(moved, t)
				continue
			}
			for len(moved) > 0 && (!ok || moved[0].Before(t)) {
				if !emit(moved[0]) {
					return
				}
				moved = moved[1:]
			}
			if !ok {
				yield(time.Time{}, ErrTooSparse)
				return
			}
			if !emit(t) {
				return
			}
		}
	}
}

// next finds the first local time from one on that matches.
func (c *Cron) next(from time.Time) (time.Time, bool) {
	year, month, day := from.Date()
	clock := from.Hour()*3600 + from.Minute()*60 + from.Second()
	for y := year; y <= min(year+cronHorizon, lastYear); y++ {
		if c.years != nil && !c.years[y] {
			month, day, clock = time.January, 1, 0
			continue
		}
		for m := month; m <= time.December; m++ {
			if c.months&(1<<m) == 0 {
				day, clock = 1, 0
				continue
			}
			matching := c.daysOf(y, m) >> day << day
			for matching != 0 {
				d := bits.TrailingZeros64(matching)
				if d != day {
					clock = 0
				}
				if at, ok := c.clockFrom(clock); ok {
					return time.Date(y, m, d, 0, 0, at, 0, time.UTC), true
				}
				matching &^= 1 << d
				clock = 0
			}
			day, clock = 1, 0
		}
		month = time.January
	}
	return time.Time{}, false
}

// clockFrom finds the first matching second of a day from one on.
func (c *Cron) clockFrom(second int) (int, bool) {
	h, m, s := second/3600, second/60%60, second%60
	for hour := following(c.hours, h); hour < 24; hour = following(c.hours, hour+1) {
		if hour != h {
			m, s = 0, 0
		}
		for minute := following(c.minutes, m); minute < 60; minute = following(c.minutes, minute+1) {
			if hour != h || minute != m {
				s = 0
			}
			if at := following(c.seconds, s); at < 60 {
				return hour*3600 + minute*60 + at, true
			}
		}
	}
	return 0, false
}

// following is the first member of a set from a number on, 64 if there is none.
func following(set uint64, from int) int {
	if from > 63 {
		return 64
	}
	return bits.TrailingZeros64(set >> from << from)
}

// daysOf are the days of a month that match.
func (c *Cron) daysOf(year int, month time.Month) uint64 {
	length := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	first := int(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Weekday())
	whole := uint64(1)<<(length+1) - 2
	byMonth := c.days & whole
	if c.lastDay {
		byMonth |= 1 << length
	}
	if len(c.nth) > 0 {
		if c.dayOr || c.anyDay {
			return c.nthDays(first, length)
		}
		return c.nthDays(first, length) & byMonth
	}
	byWeek := uint64(0)
	for d := 1; d <= length; d++ {
		if c.weekday&(1<<((first+d-1)%7)) != 0 {
			byWeek |= 1 << d
		}
	}
	if c.dayOr && !c.anyDay && !c.anyWeek {
		return byMonth | byWeek
	}
	return byMonth & byWeek
}

// nthDays are the numbered weekdays of a month.
func (c *Cron) nthDays(first, length int) uint64 {
	var days uint64
	for _, w := range c.nth {
		d := 1 + (w.weekday-first+7)%7
		if w.n == 0 {
			d += (length - d) / 7 * 7
		} else {
			d += (w.n - 1) * 7
		}
		if d <= length {
			days |= 1 << d
		}
	}
	return days
}
