package retention

import "time"

const (
	// restFactor is the length of the pause after a batch, in multiples of the time that the batch took: deletions take a fifth of the time on
	// every machine, under every load.
	restFactor = 4
	// maxPause bounds a pause for clients, so an outlier does not stop the deletion. The rate has no such bound.
	maxPause = 2 * time.Second
)

// pause returns the length of the pause after a batch of n documents that took some time. rate is the maximum number of documents per second;
// 0 means no limit.
func pause(n int64, took time.Duration, rate int) time.Duration {
	rest := min(restFactor*took, maxPause)
	if rate > 0 {
		rest = max(rest, time.Duration(n)*time.Second/time.Duration(rate)-took)
	}
	return rest
}
