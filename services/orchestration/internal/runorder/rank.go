package runorder

import "time"

const (
	// MaxPriority and MaxWeight bound what clients set.
	MaxPriority = 100
	MaxWeight   = 100
	// Advance is the time by which a point of priority brings a run forward among those of its deployment.
	Advance = time.Minute
)

// Rank returns the time by which the runs of a deployment are ordered. A rank does not change while a run waits, so no later run stays before
// an earlier one for longer than MaxPriority points are worth.
func Rank(start time.Time, priority int64) time.Time {
	return start.Add(-time.Duration(priority) * Advance)
}
