package schedule

import (
	"iter"
	"time"
)

// Shown is a cron expression that is due whenever the wall clock shows a matching time: twice where it shows that time
// twice, and once, at the end of a gap, for all times that a clock change skips. Expressions that name no hour lose the
// skipped ones instead.
type Shown struct{ *Cron }

// Times implements Schedule.
func (s Shown) Times(start time.Time) iter.Seq2[time.Time, error] {
	return func(yield func(time.Time, error) bool) {
		begin, last := start.In(s.zone), time.Time{}
		emit := func(t time.Time) bool {
			if t.Equal(last) {
				return true
			}
			last = t
			return yield(t, nil)
		}
		for {
			_, end := begin.ZoneBounds()
			shift := offset(begin, s.zone)
			local := begin.UTC().Add(shift)
			if local.Nanosecond() > 0 {
				local = local.Truncate(time.Second).Add(time.Second)
			}
			for {
				match, ok := s.next(local)
				if !ok {
					yield(time.Time{}, ErrTooSparse)
					return
				}
				t := match.Add(-shift).In(s.zone)
				if !end.IsZero() && !t.Before(end) {
					// The match may be in the gap behind this period.
					skipped := s.hours != allHours && t.Before(end.Add(offset(end, s.zone)-shift))
					if skipped && !emit(end) {
						return
					}
					break
				}
				if !emit(t) {
					return
				}
				local = match.Add(time.Second)
			}
			begin = end
		}
	}
}
