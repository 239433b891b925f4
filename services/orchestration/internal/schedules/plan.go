package schedules

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/orch-project/orch/pkg/schedule"
)

// Limits say how far ahead runs are created.
type Limits struct {
	// MinRuns and MinAhead are both reached for every schedule, unless MaxRuns or MaxAhead is reached first.
	MinRuns  int
	MinAhead time.Duration
	MaxRuns  int
	MaxAhead time.Duration
	// CatchUp is how far back runs are created that were due while no scheduler ran; 0 is not at all.
	CatchUp time.Duration
	// PassRuns is how many runs a pass plans before it leaves the rest to the next one, so that no burst takes the server's
	// time; 0 is no bound.
	PassRuns int
}

// DefaultLimits are those of the reference, whose scheduler does not catch up; this one does for an hour.
var DefaultLimits = Limits{MinRuns: 3, MinAhead: time.Hour, MaxRuns: 100, MaxAhead: 100 * 24 * time.Hour, CatchUp: time.Hour, PassRuns: 400}

// plan is what a pass finds out about one schedule.
type plan struct {
	// times are the runs to create, in ascending order.
	times []time.Time
	// due is when the schedule has to be examined again; the zero time is never.
	due time.Time
}

// plan computes the runs of a schedule that are due after the last one that was created, and when the next have to be
// created. until is that last one's time; the zero time means that the schedule is new.
func (l Limits) plan(s schedule.Schedule, until, now time.Time) (plan, error) {
	start := now
	if !until.IsZero() && until.Before(now) {
		start = until.Add(time.Microsecond)
		if bound := now.Add(-l.CatchUp); start.Before(bound) {
			start = bound
		}
	}
	var p plan
	var ahead []time.Time // From now on, whether or not they were created before.
	for t, err := range s.Times(start) {
		if err != nil {
			if len(ahead) == 0 {
				return plan{}, err
			}
			break
		}
		if t.Before(start) {
			continue
		}
		if t.After(now.Add(l.MaxAhead)) {
			p.due = t.Add(-l.MaxAhead)
			break
		}
		if len(p.times) >= l.MaxRuns || len(ahead) >= l.MaxRuns {
			// When there is room again, but not at every tick of a schedule of seconds.
			p.due = now.Add(min(t.Sub(now)/4, maxFullPause))
			if len(ahead) > 0 {
				p.due = later(p.due, ahead[0])
			}
			break
		}
		if until.IsZero() || t.After(until) {
			p.times = append(p.times, t)
		}
		if !t.After(now) {
			continue
		}
		ahead = append(ahead, t)
		if n := len(ahead); n >= l.MinRuns && !t.Before(now.Add(l.MinAhead)) {
			// Until one of the two is too little again.
			p.due = earlier(ahead[n-l.MinRuns], t.Add(-l.MinAhead))
			break
		}
	}
	slices.SortFunc(p.times, time.Time.Compare)
	return p, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// maxFullPause is how long a schedule that has as many runs as it may is left alone at least.
const maxFullPause = 15 * time.Second

// minSpread and maxSpread bound the delay of an examination, which spreads schedules of the same hour. Within the bounds the
// delay is at most a tenth of the time until the examination.
const (
	minSpread = 20 * time.Second
	maxSpread = 5 * time.Minute
)

// jitter is the delay of an examination. It is the same share of the spread each time, derived from the deployment's id.
func jitter(deployment string, wait time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(deployment)) // It never fails.
	spread := min(max(wait/10, minSpread), maxSpread)
	return time.Duration(h.Sum32()%uint32(spread/time.Millisecond)) * time.Millisecond
}
