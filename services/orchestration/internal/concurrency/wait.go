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
	// spread is the maximum relative excess of a wait over the average.
	spread = 0.3
)

// wait returns the seconds until a client should request slots of these limits again. The limit with the highest demand
// per slot decides. chance is in [0, 1).
func wait(limits []*orchv1.ConcurrencyLimitV2, slots int64, now time.Time, chance float64) float64 {
	var seconds, most float64
	for _, l := range limits {
		blocking := float64(slots + denied(l, now))
		var each, longest float64
		if decay := l.GetSlotDecayPerSecond(); decay > 0 {
			each, longest = 1/decay, math.MaxFloat64
		} else {
			longest = maxWait
			if strings.HasPrefix(l.GetName(), tagPrefix) {
				longest = maxTagWait
			}
			each = math.Min(l.GetAvgSlotOccupancySeconds(), longest)
			blocking /= float64(max(1, l.GetLimit()))
		}
		if blocking > most {
			most, seconds = blocking, math.Min(each*blocking, longest)
		}
	}
	return jitter(seconds, chance)
}

// jitter draws from an exponential distribution, bounded around the average. So clients that were refused together do
// not retry together.
func jitter(average, chance float64) float64 {
	high := 1 + spread
	low := math.Log2(math.Exp2(high) / (math.Exp2(high) - 1))
	from, to := 1-math.Exp(-low), 1-math.Exp(-high)
	return -math.Log1p(-(from + chance*(to-from))) * average
}
