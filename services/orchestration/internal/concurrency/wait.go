package concurrency

import (
	"math"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// maxWait bounds the Retry-After of clients, in seconds, and maxTagWait that of task runs.
	maxWait    = 30.0
	maxTagWait = 10.0
	// minWait bounds the Retry-After from below, in seconds.
	minWait = 0.05
	// firstWait bounds the first Retry-After from above, in seconds, and waitedFraction adds a part of the time waited so far to the bound.
	firstWait      = 0.25
	waitedFraction = 0.25
	// spread is the maximum relative excess of a wait over the average.
	spread = 0.3
)

// wait returns the seconds until a client should request slots of these limits again. The limit with the longest wait decides.
// chance is in [0, 1).
//
// A slot that becomes free is unused until the client that waits longest requests it. So a client returns in half of the time that
// those before it take, and the first one in an eighth of the average time until a slot becomes free. That time may be far from the
// present one, so a client first waits for a short time, and then for a part of the time that it has waited.
func wait(limits []*orchv1.ConcurrencyLimitV2, r slotRequest, now time.Time, waited time.Duration, chance float64) float64 {
	longest := 0.0
	for _, l := range limits {
		reserved, requested := float64(r.slotsReserved(l, now)), float64(r.slots)
		var seconds float64
		if decay := l.GetSlotDecayPerSecond(); decay > 0 {
			seconds = float64(r.slots+denied(l, now)) / decay
		} else {
			most := maxWait
			if strings.HasPrefix(l.GetName(), tagPrefix) {
				most = maxTagWait
			}
			most = math.Min(most, firstWait+waitedFraction*waited.Seconds())
			each := math.Min(l.GetAvgSlotOccupancySeconds(), maxWait) / float64(max(1, l.GetLimit()))
			seconds = math.Max(minWait, math.Min(each*(reserved/2+requested/8), most))
		}
		longest = math.Max(longest, seconds)
	}
	return jitter(longest, chance)
}

// jitter draws from an exponential distribution, bounded around the average. So clients that were refused together do
// not retry together.
func jitter(average, chance float64) float64 {
	high := 1 + spread
	low := math.Log2(math.Exp2(high) / (math.Exp2(high) - 1))
	from, to := 1-math.Exp(-low), 1-math.Exp(-high)
	return -math.Log1p(-(from + chance*(to-from))) * average
}
