package runorder

import "time"

// LateAfter is the time after its scheduled start at which a run is late.
const LateAfter = 15 * time.Second

// The settings of late runs, beside a number of seconds: late runs start, or are skipped as soon as they are late.
const (
	keepLate = "keep"
	skipLate = "skip"
	// maxLateness is a year in seconds.
	maxLateness = 366 * 24 * 60 * 60
)
