package retention

import (
	"context"
	"time"
)

const (
	// idleShare is the share of the working time that deletions take without clients, busyShare that beside a client that always
	// waits for a response.
	idleShare = 0.5
	busyShare = 0.2
	// costGrowth is how much the estimated cost of a document grows with each batch, so it follows documents of another kind.
	costGrowth = 1.02
	// quietConcurrency is the mean number of concurrent requests below which there are no clients, health checks aside.
	quietConcurrency = 0.01
	// maxPause bounds a pause for clients, so an outlier does not stop the deletion. The rate has no such bound.
	maxPause = 2 * time.Second
)

// throttle decides how long the pause after a batch lasts.
type throttle struct {
	// rate is the maximum number of documents per second; 0 means no limit.
	rate int
	// requests returns the request time of clients since the start; its growth per second is their concurrency.
	requests func() time.Duration

	last  time.Time     // The end of the last pause,
	total time.Duration // and the request time then.
	// quiet reports that there were no clients between the last two pauses.
	quiet bool
	// cost is the estimated work for one document: the shortest time that one took, since batches also wait for the disk and
	// for clients. Waiting costs nobody anything.
	cost time.Duration
}

// begin starts the measurement of the load.
func (t *throttle) begin() { t.last, t.total = time.Now(), t.requests() }

// concurrency is the mean number of concurrent requests since the last pause.
func (t *throttle) concurrency() float64 {
	elapsed := time.Since(t.last)
	if elapsed <= 0 {
		return 0
	}
	return float64(t.requests()-t.total) / float64(elapsed)
}

// share is the share of time for deletions beside concurrent requests.
func share(concurrency float64) float64 {
	return idleShare - (idleShare-busyShare)*min(1, concurrency)
}

// rest is the pause after a batch of n documents that took some time.
func (t *throttle) rest(n int64, took time.Duration) time.Duration {
	t.cost = time.Duration(float64(t.cost) * costGrowth)
	if one := took / time.Duration(n); t.cost == 0 || one < t.cost {
		t.cost = one
	}
	rest := min(time.Duration(float64(n)*float64(t.cost)/share(t.concurrency()))-took, maxPause)
	if t.rate > 0 {
		rest = max(rest, time.Duration(n)*time.Second/time.Duration(t.rate)-took)
	}
	return max(rest, 0)
}

// pause waits after a batch of n documents that took some time. It reports whether the context goes on.
func (t *throttle) pause(ctx context.Context, n int64, took time.Duration) bool {
	timer := time.NewTimer(t.rest(n, took))
	defer timer.Stop()
	defer t.begin()
	t.quiet = t.concurrency() < quietConcurrency
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
