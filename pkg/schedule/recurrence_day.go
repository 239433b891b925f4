package schedule

import (
	"slices"
	"time"
)

// monday0 numbers weekdays from Monday, as recurrence rules do.
func monday0(d time.Weekday) int { return (int(d) + 6) % 7 }

func yearLength(year int) int { return time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC).YearDay() }

func monthLength(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// matchesDay reports whether a day of the period that begins at a date passes all restrictions on days.
func (r *recurrence) matchesDay(date, begin time.Time) bool {
	if r.months != nil && !slices.Contains(r.months, int(date.Month())) {
		return false
	}
	if r.weekNumber != nil && !r.matchesWeek(date, begin.Year()) {
		return false
	}
	if r.weekdays != nil && !slices.Contains(r.weekdays, monday0(date.Weekday())) {
		return false
	}
	if r.nth != nil && !r.matchesNth(date) {
		return false
	}
	if r.easter != nil && !slices.Contains(r.easter, daysBetween(easterSunday(begin.Year()), date)) {
		return false
	}
	if r.monthDays != nil && !slices.Contains(r.monthDays, date.Day()) && !slices.Contains(r.monthDays, date.Day()-1-monthLength(date)) {
		return false
	}
	if r.yearDays != nil && !slices.Contains(r.yearDays, date.YearDay()) && !slices.Contains(r.yearDays, date.YearDay()-1-yearLength(date.Year())) {
		return false
	}
	return true
}

// matchesNth reports whether a day is a numbered weekday of its month or, in a yearly rule without months, of its year.
func (r *recurrence) matchesNth(date time.Time) bool {
	at, length := date.Day(), monthLength(date)
	if r.freq == yearly && r.months == nil {
		at, length = date.YearDay(), yearLength(date.Year())
	}
	fromStart, fromEnd := (at-1)/7+1, -((length-at)/7 + 1)
	return slices.ContainsFunc(r.nth, func(w weekdayNumber) bool {
		return w.weekday == monday0(date.Weekday()) && (w.n == fromStart || w.n == fromEnd)
	})
}

// matchesWeek reports whether a day is in a numbered week of a year. The week that a new year begins in has at least
// four of its days.
func (r *recurrence) matchesWeek(date time.Time, year int) bool {
	n, days := r.weekOf(date)
	if slices.Contains(r.weekNumber, n) {
		return true
	}
	if days > year { // Weeks of the next year count only by number.
		return false
	}
	first, next := r.firstWeek(days), r.firstWeek(days+1)
	weeks := daysBetween(first, next) / 7
	if days < year { // Of the last year's weeks, the last one may be named as such.
		return n == weeks && slices.Contains(r.weekNumber, -1)
	}
	return slices.Contains(r.weekNumber, n-weeks-1)
}

// weekOf is the number of a day's week and the year that it belongs to.
func (r *recurrence) weekOf(date time.Time) (n, year int) {
	for _, year := range []int{date.Year() + 1, date.Year(), date.Year() - 1} {
		if first := r.firstWeek(year); !date.Before(first) {
			return daysBetween(first, date)/7 + 1, year
		}
	}
	return 0, date.Year()
}

// firstWeek is the first day of a year's first week: the week with the fourth of January.
func (r *recurrence) firstWeek(year int) time.Time {
	return r.week(time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC))
}

// easterSunday is the Gregorian date of Easter (the anonymous algorithm).
func easterSunday(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	d := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	e := (32 + 2*(b%4) + 2*(c/4) - d - c%4) % 7
	f := d + e - 7*((a+11*d+22*e)/451) + 114
	return time.Date(year, time.Month(f/31), f%31+1, 0, 0, 0, 0, time.UTC)
}
