package schedule

import (
	"iter"
	"slices"
	"time"
)

// frequency is the FREQ of a rule, the coarsest first.
type frequency int

const (
	yearly frequency = iota
	monthly
	weekly
	daily
	hourly
	minutely
	secondly
)

// weekdayNumber is a weekday, Monday 0, and its number in the period; 0 is every such day.
type weekdayNumber struct{ weekday, n int }

// recurrence is one rule of RFC 5545 on local times. A nil list does not restrict.
type recurrence struct {
	freq     frequency
	interval int
	start    time.Time
	until    time.Time // The zero time is none.
	count    int
	counted  bool // A count was given; it may be 0.
	wkst     int  // Monday 0.

	setpos     []int
	months     []int
	monthDays  []int // Negative ones count from the end of the month.
	yearDays   []int
	easter     []int // Days after Easter Sunday.
	weekNumber []int
	weekdays   []int // Monday 0.
	nth        []weekdayNumber
	hours      []int
	minutes    []int
	seconds    []int
}

// complete fills in what the start of a rule says and the rule does not.
func (r *recurrence) complete() {
	if r.weekNumber == nil && r.yearDays == nil && r.monthDays == nil && r.weekdays == nil && r.nth == nil && r.easter == nil {
		switch r.freq {
		case yearly:
			if r.months == nil {
				r.months = []int{int(r.start.Month())}
			}
			r.monthDays = []int{r.start.Day()}
		case monthly:
			r.monthDays = []int{r.start.Day()}
		case weekly:
			r.weekdays = []int{monday0(r.start.Weekday())}
		}
	}
	if r.hours == nil && r.freq < hourly {
		r.hours = []int{r.start.Hour()}
	}
	if r.minutes == nil && r.freq < minutely {
		r.minutes = []int{r.start.Minute()}
	}
	if r.seconds == nil && r.freq < secondly {
		r.seconds = []int{r.start.Second()}
	}
	for _, list := range []*[]int{&r.hours, &r.minutes, &r.seconds} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	r.untilForCount()
}

// untilForCount turns the count of a rule that only steps into its last time, so that finding the next one needs no counting.
func (r *recurrence) untilForCount() {
	if !r.counted || r.count <= 0 || r.freq < hourly || r.filtersDays() || r.setpos != nil ||
		r.hours != nil || r.freq >= minutely && r.minutes != nil || r.freq == secondly && r.seconds != nil {
		return
	}
	perPeriod := max(1, len(r.minutes)) * max(1, len(r.seconds))
	if r.freq == secondly || r.freq == minutely && len(r.seconds) == 1 || r.freq == hourly && perPeriod == 1 {
		steps := int64(r.count-1) * int64(r.interval) * int64(r.unit())
		if steps/int64(r.unit())/int64(r.interval) != int64(r.count-1) || steps > int64(lastYear)*366*86400 {
			r.counted = false
			return
		}
		last := time.Unix(r.start.Unix()+steps, 0).UTC()
		if r.until.IsZero() || last.Before(r.until) {
			r.until = last
		}
		r.counted = false
	}
}

// unit is the length of a period in seconds, for frequencies of hours and less.
func (r *recurrence) unit() int {
	switch r.freq {
	case hourly:
		return 3600
	case minutely:
		return 60
	default:
		return 1
	}
}

func (r *recurrence) filtersDays() bool {
	return r.months != nil || r.monthDays != nil || r.yearDays != nil || r.easter != nil || r.weekNumber != nil || r.weekdays != nil || r.nth != nil
}

// from yields the local times of a rule from one on. It ends early when the work is spent.
func (r *recurrence) from(from time.Time, work *work) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if r.counted && r.count <= 0 {
			return
		}
		left := r.count
		first := from
		if r.counted || from.Before(r.start) {
			first = r.start // A count counts from the beginning.
		}
		emit := func(t time.Time) bool {
			if !r.until.IsZero() && t.After(r.until) {
				return false
			}
			if t.Before(r.start) {
				return true
			}
			if r.counted {
				left--
			}
			if !t.Before(from) && !yield(t) {
				return false
			}
			return !r.counted || left > 0
		}
		if r.freq >= hourly {
			r.clockPeriods(first, work, emit)
		} else {
			r.dayPeriods(first, work, emit)
		}
	}
}

// dayWork is what examining a day counts, against one for a period of hours or less.
const dayWork = 24

// dayPeriods emits the times of years, months, weeks or days, from the period of a local time on.
func (r *recurrence) dayPeriods(first time.Time, work *work, emit func(time.Time) bool) {
	times := r.timesOfDay()
	for k := r.periodOf(first); work.take(1); k++ {
		begin, days := r.period(k)
		if begin.Year() > lastYear || !r.until.IsZero() && begin.After(r.until) {
			return
		}
		var matching []time.Time
		for d := range days {
			if date := begin.AddDate(0, 0, d); r.matchesDay(date, begin) {
				matching = append(matching, date)
			}
		}
		work.take(days * dayWork)
		if r.setpos != nil {
			for _, t := range r.positions(matching, times) {
				if !emit(t) {
					return
				}
			}
			continue
		}
		for _, date := range matching {
			for _, at := range times {
				if !emit(date.Add(time.Duration(at) * time.Second)) {
					return
				}
			}
		}
	}
}

// timesOfDay lists the seconds of a day at which a rule of days or more is due.
func (r *recurrence) timesOfDay() []int {
	var times []int
	for _, h := range r.hours {
		for _, m := range r.minutes {
			for _, s := range r.seconds {
				times = append(times, h*3600+m*60+s)
			}
		}
	}
	return times
}

// positions picks the times of a period that BYSETPOS names.
func (r *recurrence) positions(days []time.Time, times []int) []time.Time {
	var picked []time.Time
	for _, pos := range r.setpos {
		at := pos - 1
		if pos < 0 {
			at = len(days)*len(times) + pos
		}
		if at >= 0 && at < len(days)*len(times) {
			picked = append(picked, days[at/len(times)].Add(time.Duration(times[at%len(times)])*time.Second))
		}
	}
	return sortedDates(picked)
}

// periodOf is the number of the last period that begins at or before a local time, 0 being that of the start.
func (r *recurrence) periodOf(t time.Time) int {
	if !t.After(r.start) {
		return 0
	}
	var units int
	switch r.freq {
	case yearly:
		units = t.Year() - r.start.Year()
	case monthly:
		units = (t.Year()-r.start.Year())*12 + int(t.Month()) - int(r.start.Month())
	case weekly:
		units = int(r.week(t).Sub(r.week(r.start)).Hours()) / (7 * 24)
	default:
		units = daysBetween(r.start, t)
	}
	return units / r.interval
}

// daysBetween counts the midnights between two local times.
func daysBetween(a, b time.Time) int {
	return int((midnight(b).Unix() - midnight(a).Unix()) / 86400)
}

func midnight(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// week is the first day of a local time's week.
func (r *recurrence) week(t time.Time) time.Time {
	return midnight(t).AddDate(0, 0, -((monday0(t.Weekday()) - r.wkst + 7) % 7))
}

// period is the first day of a period, and how many days it has.
func (r *recurrence) period(k int) (time.Time, int) {
	step := k * r.interval
	switch r.freq {
	case yearly:
		begin := time.Date(r.start.Year()+step, 1, 1, 0, 0, 0, 0, time.UTC)
		return begin, yearLength(begin.Year())
	case monthly:
		begin := time.Date(r.start.Year(), r.start.Month()+time.Month(step), 1, 0, 0, 0, 0, time.UTC)
		return begin, monthLength(begin)
	case weekly:
		begin := r.week(r.start).AddDate(0, 0, 7*step)
		if k == 0 { // The first week begins in its middle.
			return midnight(r.start), 7 - daysBetween(begin, r.start)
		}
		return begin, 7
	default:
		return midnight(r.start).AddDate(0, 0, step), 1
	}
}

// clockPeriods emits the times of hours, minutes or seconds, from a local time's period on. Days, hours and minutes that do
// not match are stepped over as a whole.
func (r *recurrence) clockPeriods(first time.Time, work *work, emit func(time.Time) bool) {
	unit, origin := int64(r.unit()), r.start.Unix()
	step := unit * int64(r.interval)
	origin -= mod(origin, unit)
	at := origin
	if from := first.Unix() - mod(first.Unix(), unit); from > origin {
		at += (from - origin) / step * step
	}
	// skip moves on to the first period that begins at a second or later.
	skip := func(second int64) { at += (second - at + step - 1) / step * step }
	day, matches := int64(-1)<<62, false
	for work.take(1) {
		begin := time.Unix(at, 0).UTC()
		if begin.Year() > lastYear || !r.until.IsZero() && begin.After(r.until) {
			return
		}
		if today := at - mod(at, 86400); today != day {
			day, matches = today, r.matchesDay(midnight(begin), midnight(begin))
			work.take(dayWork)
		}
		switch {
		case !matches:
			skip(day + 86400)
		case r.hours != nil && !slices.Contains(r.hours, begin.Hour()):
			skip(at - mod(at, 3600) + 3600)
		case r.freq >= minutely && r.minutes != nil && !slices.Contains(r.minutes, begin.Minute()):
			skip(at - mod(at, 60) + 60)
		case r.freq == secondly && r.seconds != nil && !slices.Contains(r.seconds, begin.Second()):
			at += step
		default:
			for _, t := range r.timesOfPeriod(begin) {
				if !emit(t) {
					return
				}
			}
			at += step
		}
	}
}

// timesOfPeriod lists the times of a matching hour, minute or second.
func (r *recurrence) timesOfPeriod(begin time.Time) []time.Time {
	seconds := []int{0}
	switch r.freq {
	case hourly:
		seconds = seconds[:0]
		for _, m := range r.minutes {
			for _, s := range r.seconds {
				seconds = append(seconds, m*60+s)
			}
		}
	case minutely:
		seconds = r.seconds
	}
	if r.setpos != nil {
		return r.positions([]time.Time{begin}, seconds)
	}
	times := make([]time.Time, len(seconds))
	for i, s := range seconds {
		times[i] = begin.Add(time.Duration(s) * time.Second)
	}
	return times
}

// mod is the remainder that is never negative.
func mod(a, b int64) int64 { return (a%b + b) % b }
