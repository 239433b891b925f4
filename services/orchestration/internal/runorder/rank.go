package runorder

import "time"

const (
	// MaxPriority bounds the priority of a run, which is 0 or more.
	MaxPriority = 100
	// MaxWeight bounds the weight of a deployment, which is 1 or more.
	MaxWeight = 100
	// Advance is the time by which a point of priority brings a run forward among those of its deployment.
	Advance = time.Minute
)

// Start returns the start of which Rank returned the rank.
func Start(rank time.Time, priority int64) time.Time {
	return rank.Add(time.Duration(priority) * Advance)
}

// Rank returns the time by which the runs of a deployment are ordered. A rank does not change while a run waits, so no later run stays before
// an earlier one for longer than MaxPriority points are worth.
func Rank(start time.Time, priority int64) time.Time {
	return start.Add(-time.Duration(priority) * Advance)
}
