package broker

import "time"

const (
	// rateWindow is how far back the rate is measured, and rateMinimum the least busy time for a result.
	rateWindow  = 2 * time.Second
	rateMinimum = 800 * time.Millisecond
	// stalledAfter is the time without progress after which a consumer with work counts as stalled.
	stalledAfter = time.Second
	// maxSampleGap is how far apart two samples may be to count as an unbroken observation.
	maxSampleGap = time.Second
)

// drainRate measures at which rate a consumer settles the events of this process, while it has such events. An idle
// consumer says nothing about its rate.
type drainRate struct {
	last    consumerPosition // The last sample.
	pending float64          // Events of this process, then.
	stalled time.Duration    // For how long the consumer has made no progress although it had work.
	busy    []busySpan
}

// busySpan is the time between two samples in which the consumer always had events of this process.
type busySpan struct {
	end     time.Time
	took    time.Duration
	settled float64 // Events of this process.
}

// add records a sample: so many events of this process are pending, and so many were settled since the last sample.
func (r *drainRate) add(now consumerPosition, pending, settled float64) {
	took := now.at.Sub(r.last.at)
	unbroken := took > 0 && took <= maxSampleGap
	// All settled events were pending at the beginning, so the consumer never waited for work.
	if unbroken && settled <= r.pending && r.pending > 0 {
		r.busy = append(r.busy, busySpan{now.at, took, settled})
	}
	first := 0
	for first < len(r.busy) && now.at.Sub(r.busy[first].end) >= rateWindow {
		first++
	}
	r.busy = append(r.busy[:0], r.busy[first:]...)
	if unbroken && now.settled == r.last.settled && r.last.pending > 0 {
		r.stalled += took
	} else {
		r.stalled = 0
	}
	r.last, r.pending = now, pending
}

// isStalled reports that the consumer makes no progress, because the store is away.
func (r *drainRate) isStalled() bool { return r.stalled >= stalledAfter }

// perSecond returns the rate in events a second: the higher one of the whole window and of its later half, because a
// consumer that yields to a burst begins slowly. Known is false while too little was observed.
func (r *drainRate) perSecond() (rate float64, ok bool) {
	all := r.sum(rateWindow)
	if all.took < rateMinimum {
		return 0, false
	}
	return max(all.rate(), r.sum(all.took/2).rate()), true
}

// sum adds up the latest spans that make up at least d of busy time, all spans when there is less.
func (r *drainRate) sum(d time.Duration) busySpan {
	var sum busySpan
	for i := len(r.busy) - 1; i >= 0 && sum.took < d; i-- {
		sum.took, sum.settled = sum.took+r.busy[i].took, sum.settled+r.busy[i].settled
	}
	return sum
}

func (s busySpan) rate() float64 { return s.settled / s.took.Seconds() }
