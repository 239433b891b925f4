package retention

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/orch-project/orch/services/orchestration/internal/requestload"
)

const (
	// idleShare is the share of the time that deletions take without clients, busyShare that beside a client that always waits for a
	// response, until its slowdown is known.
	idleShare = 0.5
	busyShare = 0.2
	// minShare is the least share, whatever the slowdown.
	minShare = 0.02
	// maxSlowdown is how much longer requests may take because of batches, as a share of their latency during pauses. Later compactions
	// slow the pauses too, and the throttle cannot measure that. So it is half of the tenth that is promised (ADR 040).
	maxSlowdown = 0.05
	// maxLatencies is the number of batches and pauses of which the median latency is taken, minLatencies the least number.
	maxLatencies, minLatencies = 51, 9
	// quietConcurrency is the mean number of concurrent requests below which there are no clients, health checks aside.
	quietConcurrency = 0.01
	// maxPause bounds a pause for clients, so an outlier does not stop the deletion. The rate has no such bound.
	maxPause = 2 * time.Second
)

// throttle decides how long the pause after a batch lasts. It compares the latency of clients during batches with that during pauses:
//
//	batch: latency beside deletions ──┐
//	                                  ├──▶ slowdown ──▶ share of the time ──▶ length of the pause
//	pause: latency without them ──────┘
type throttle struct {
	// rate is the maximum number of documents per second; 0 means no limit.
	rate int
	// requests returns the load by clients since the start.
	requests func() requestload.Load

	last time.Time // When the last batch or pause ended,
	load requestload.Load
	// quiet reports that there were no clients during the last batch.
	quiet bool
	seen  *slowdown
}

// slowdown is what several passes measured. It is safe for concurrent use.
type slowdown struct {
	mu sync.Mutex
	// beside are latencies during batches, alone those during pauses.
	beside, alone latencies
}

// add adds a period to the latencies of its kind.
func (s *slowdown) add(kind *latencies, load requestload.Load) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind.add(load)
}

// get returns how much longer requests take during batches, as a share of their latency during pauses; ok is false before enough
// batches and pauses.
func (s *slowdown) get() (fraction float64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if min(s.beside.n, s.alone.n) < minLatencies {
		return 0, false
	}
	return s.beside.median()/s.alone.median() - 1, true
}

// latencies are the mean latencies of clients during the last batches or pauses. A slow disk prolongs a batch, and so its share of
// all slow requests. The median is not affected.
type latencies struct {
	ring [maxLatencies]float64
	n    int
}

// add adds a period, unless no request ended in it.
func (l *latencies) add(load requestload.Load) {
	if load.Ended > 0 && load.Time > 0 {
		l.ring[l.n%maxLatencies] = float64(load.Time) / float64(load.Ended)
		l.n++
	}
}

func (l *latencies) median() float64 {
	all := slices.Clone(l.ring[:min(l.n, maxLatencies)])
	slices.Sort(all)
	return all[len(all)/2]
}

// begin starts the measurement of the load.
func (t *throttle) begin() { t.last, t.load = time.Now(), t.requests() }

// since returns the load since the last call, and its mean concurrency.
func (t *throttle) since() (load requestload.Load, concurrency float64) {
	last, before := t.last, t.load
	t.begin()
	load = t.load.Sub(before)
	if elapsed := t.last.Sub(last); elapsed > 0 {
		concurrency = float64(load.Time) / float64(elapsed)
	}
	return load, concurrency
}

// fraction is the part of the time for deletions beside concurrent requests.
func (t *throttle) fraction(concurrency float64) float64 {
	slowdown, ok := t.seen.get()
	switch {
	case concurrency < quietConcurrency || !ok:
		return idleShare - (idleShare-busyShare)*min(1, concurrency)
	case slowdown*idleShare <= maxSlowdown:
		return idleShare
	}
	return max(maxSlowdown/slowdown, minShare)
}

// rest is the pause after a batch of n documents that took some time, beside concurrent requests.
func (t *throttle) rest(n int64, took time.Duration, concurrency float64) time.Duration {
	rest := min(time.Duration(float64(took)/t.fraction(concurrency))-took, maxPause)
	if t.rate > 0 {
		rest = max(rest, time.Duration(n)*time.Second/time.Duration(t.rate)-took)
	}
	return max(rest, 0)
}

// pause waits after a batch of n documents that took some time. It reports whether the context goes on.
func (t *throttle) pause(ctx context.Context, n int64, took time.Duration) bool {
	load, concurrency := t.since()
	t.seen.add(&t.seen.beside, load)
	t.quiet = concurrency < quietConcurrency
	timer := time.NewTimer(t.rest(n, took, concurrency))
	defer timer.Stop()
	select {
	case <-timer.C:
		load, _ = t.since()
		t.seen.add(&t.seen.alone, load)
		return true
	case <-ctx.Done():
		return false
	}
}
