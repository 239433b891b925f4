package schedule

import (
	"iter"
	"slices"
	"time"
)

// RRule is due as recurrence rules say: one rule, or a set of rules and dates less those that are excluded.
type RRule struct {
	text     string
	zone     *time.Location
	rules    []*recurrence
	dates    []time.Time // Local times, ascending.
	except   []*recurrence
	excluded map[time.Time]bool
}

// Location implements Schedule.
func (r *RRule) Location() *time.Location { return r.zone }

// String is the rule as it was written.
func (r *RRule) String() string { return r.text }

// Times implements Schedule.
func (r *RRule) Times(start time.Time) iter.Seq2[time.Time, error] {
	return func(yield func(time.Time, error) bool) {
		yielded := distinct{}
		for local, err := range r.local(wall(start, r.zone)) {
			if err != nil {
				yield(time.Time{}, err)
				return
			}
			// Whatever a clock change makes of a local time must not be before the start.
			t := instant(local, r.zone, earlier)
			if t.Before(start) || !yielded.add(t) {
				continue
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// local yields the local times of the set from one on: the union of the rules and dates, less the exceptions. A rule whose
// next time is out of reach ends; that of all others is an error.
func (r *RRule) local(from time.Time) iter.Seq2[time.Time, error] {
	return func(yield func(time.Time, error) bool) {
		sources := []*source{pull(r.datesFrom(from), &work{})}
		defer func() { stop(sources) }()
		for _, rule := range r.rules {
			w := &work{left: maxWork}
			sources = append(sources, pull(rule.from(from, w), w))
		}
		exceptions := make([]exception, len(r.except))
		for i, rule := range r.except {
			exceptions[i] = exception{rule: rule}
		}
		excluding := &work{left: maxWork}
		for {
			next := earliest(sources)
			if next == nil {
				if excluding.spent() || slices.ContainsFunc(sources[1:], func(s *source) bool { return s.work.spent() }) {
					yield(time.Time{}, ErrTooSparse)
				}
				return
			}
			local := next.head
			for _, s := range sources {
				if s.ok && s.head.Equal(local) {
					s.advance()
				}
			}
			skip := r.excluded[local]
			for i := range exceptions {
				skip = exceptions[i].has(local, excluding) || skip
			}
			if !excluding.take(dayWork) {
				yield(time.Time{}, ErrTooSparse)
				return
			}
			if skip {
				continue
			}
			if !yield(local, nil) {
				return
			}
			excluding.left = maxWork
			for _, s := range sources {
				if s.ok {
					s.work.left = maxWork
				}
			}
		}
	}
}

// exception is a rule whose times are left out. It is asked for ascending times.
type exception struct {
	rule *recurrence
	next time.Time // The first time from the one that was asked for last; zero if there is none.
	end  bool
}

// has reports whether a local time is one of the rule's.
func (e *exception) has(local time.Time, work *work) bool {
	if !e.end && e.next.Before(local) {
		e.end = true
		for t := range e.rule.from(local, work) {
			e.next, e.end = t, false
			break
		}
	}
	return !e.end && e.next.Equal(local)
}

func (r *RRule) datesFrom(from time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for _, d := range r.dates {
			if !d.Before(from) && !yield(d) {
				return
			}
		}
	}
}

// work counts what is left of the bound on work.
type work struct{ left int }

// take counts work and reports whether some is left.
func (w *work) take(n int) bool {
	w.left -= n
	return w.left > 0
}

func (w *work) spent() bool { return w.left <= 0 }

// source is a sequence of local times with its next element at hand.
type source struct {
	head time.Time
	ok   bool
	work *work
	next func() (time.Time, bool)
	stop func()
}

func pull(seq iter.Seq[time.Time], w *work) *source {
	s := &source{work: w}
	s.next, s.stop = iter.Pull(seq)
	s.advance()
	return s
}

func (s *source) advance() { s.head, s.ok = s.next() }

func stop(sources []*source) {
	for _, s := range sources {
		s.stop()
	}
}

// earliest is the source with the first next element, nil if all have ended.
func earliest(sources []*source) *source {
	var first *source
	for _, s := range sources {
		if s.ok && (first == nil || s.head.Before(first.head)) {
			first = s
		}
	}
	return first
}

// sortedDates sorts local times and drops duplicates.
func sortedDates(dates []time.Time) []time.Time {
	slices.SortFunc(dates, time.Time.Compare)
	return slices.CompactFunc(dates, time.Time.Equal)
}
