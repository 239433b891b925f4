package concurrency

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// initialOccupancy is for how long slots are taken to be held before anything is known, in seconds.
	initialOccupancy = 2.0
	// minOccupancy keeps the average from becoming so small that clients come back at once, in seconds.
	minOccupancy = 0.1
)

// active is how many slots are taken by now.
func active(l *orchv1.ConcurrencyLimitV2, now time.Time) int64 {
	return left(l.GetActiveSlots(), l.GetSlotDecayPerSecond(), since(l.ActiveAt, now))
}

// denied is how many slots were asked for in vain of late. They are forgotten as slots become free.
func denied(l *orchv1.ConcurrencyLimitV2, now time.Time) int64 {
	rate := l.GetSlotDecayPerSecond()
	if rate <= 0 {
		rate = 1 / math.Max(minOccupancy, l.GetAvgSlotOccupancySeconds())
	}
	return left(l.GetDeniedSlots(), rate, since(l.DeniedAt, now))
}

func left(slots int64, perSecond, seconds float64) int64 {
	gone := math.Floor(perSecond * seconds)
	if !(gone > 0) {
		return max(0, slots)
	}
	if gone >= float64(slots) {
		return 0
	}
	return slots - int64(gone)
}

// since is the seconds from a moment until now; 0 when it is unknown or to come.
func since(at *timestamppb.Timestamp, now time.Time) float64 {
	if at == nil {
		return 0
	}
	return math.Max(0, now.Sub(at.AsTime()).Seconds())
}

// setActive stores how many slots are taken as of now.
func setActive(l *orchv1.ConcurrencyLimitV2, slots int64, now time.Time) {
	l.ActiveSlots = max(0, slots)
	l.ActiveAt = timestamppb.New(now)
}

// fold lets the time for which slots were held count in the average, the less the more slots there are.
func fold(l *orchv1.ConcurrencyLimitV2, seconds float64, slots int64) {
	if slots <= 0 {
		return
	}
	weight := 1 / (2 * float64(max(1, l.GetLimit())))
	each := math.Max(minOccupancy, seconds/float64(slots))
	l.AvgSlotOccupancySeconds += weight * (each - l.GetAvgSlotOccupancySeconds())
}

// begin completes a new limit.
func begin(l *orchv1.ConcurrencyLimitV2, now time.Time) {
	l.AvgSlotOccupancySeconds = initialOccupancy
	l.ActiveAt, l.DeniedAt = timestamppb.New(now), timestamppb.New(now)
}
