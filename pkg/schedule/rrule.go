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

// local yields the local times of the set from one on: the union of the rules and dates, less the exceptions.
func (r *RRule) local(from time.Time) iter.Seq2[time.Time, error] {
	return func(yield func(time.Time, error) bool) {
		work := &work{left: maxWork}
		sources := make([]*source, 0, len(r.rules)+1)
		for _, rule := range r.rules {
			sources = append(sources, pull(rule.from(from, work)))
		}
		sources = append(sources, pull(r.datesFrom(from)))
		exceptions := make([]*source, 0, len(r.except))
		for _, rule := range r.except {
			exceptions = append(exceptions, pull(rule.from(from, work)))
		}
		defer stop(sources)
		defer stop(exceptions)
		for {
			next := earliest(sources)
			if work.spent() {
				yield(time.Time{}, ErrTooSparse)
				return
			}
			if next == nil {
				return
			}
			local := next.head
			for _, s := range sources {
				if s.ok && s.head.Equal(local) {
					s.advance()
				}
			}
			excluded := r.excluded[local]
			for _, e := range exceptions {
				for e.ok && e.head.Before(local) {
					e.advance()
				}
				excluded = excluded || e.ok && e.head.Equal(local)
			}
			if work.spent() {
				yield(time.Time{}, ErrTooSparse)
				return
			}
			if excluded {
				work.take(1)
				continue
			}
			if !yield(local, nil) {
				return
			}
			work.left = maxWork
		}
	}
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
	next func() (time.Time, bool)
	stop func()
}

func pull(seq iter.Seq[time.Time]) *source {
	s := &source{}
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
