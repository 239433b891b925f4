package broker

import "time"

// yieldFactor is how many times as long as its last batch a yielding consumer waits.
const yieldFactor = 3

// batchLimiter limits the rate of batches (ConsumeOptions.Pace and Yield).
type batchLimiter struct {
	opts    ConsumeOptions
	began   time.Time // The last batch.
	ended   time.Time
	lagging time.Time // Since when more events wait than fit into a batch; zero when they fit.
}

func (l *batchLimiter) begin(now time.Time) { l.began = now }

// end records that a batch was handled. More reports whether further events wait already.
func (l *batchLimiter) end(now time.Time, more bool) {
	l.ended = now
	switch {
	case !more:
		l.lagging = time.Time{}
	case l.lagging.IsZero():
		l.lagging = l.began
	}
}

// delay is the time to wait before the next batch.
func (l *batchLimiter) delay(now time.Time) time.Duration {
	until := l.began.Add(l.opts.Pace)
	if !l.lagging.IsZero() && now.Sub(l.lagging) < l.opts.Yield {
		if yielded := l.ended.Add(yieldFactor * l.ended.Sub(l.began)); yielded.After(until) {
			until = yielded
		}
		if latest := l.lagging.Add(l.opts.Yield); until.After(latest) {
			until = latest
		}
	}
	return until.Sub(now)
}
