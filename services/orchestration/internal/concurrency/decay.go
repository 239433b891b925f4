package concurrency

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// initialOccupancy is the assumed average occupancy of a new limit, in seconds.
	initialOccupancy = 2.0
	// minOccupancy bounds the average from below, so that clients do not retry immediately, in seconds.
	minOccupancy = 0.1
)

// active returns the number of slots taken now.
func active(l *orchv1.ConcurrencyLimitV2, now time.Time) int64 {
	return left(l.GetActiveSlots(), l.GetSlotDecayPerSecond(), since(l.ActiveAt, now))
}

// denied returns the number of recently denied slots. It decays as slots become free.
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

// since returns the seconds from a time until now; 0 if it is unset or in the future.
func since(at *timestamppb.Timestamp, now time.Time) float64 {
	if at == nil {
		return 0
	}
	return math.Max(0, now.Sub(at.AsTime()).Seconds())
}

// setActive stores the number of slots taken now.
func setActive(l *orchv1.ConcurrencyLimitV2, slots int64, now time.Time) {
	l.ActiveSlots = max(0, slots)
	l.ActiveAt = timestamppb.New(now)
}

// fold updates the average occupancy with an observed one. Its weight falls with the size of the limit.
func fold(l *orchv1.ConcurrencyLimitV2, seconds float64, slots int64) {
	if slots <= 0 {
		return
	}
	weight := 1 / (2 * float64(max(1, l.GetLimit())))
	each := math.Max(minOccupancy, seconds/float64(slots))
	l.AvgSlotOccupancySeconds += weight * (each - l.GetAvgSlotOccupancySeconds())
}

// begin initialises a new limit.
func begin(l *orchv1.ConcurrencyLimitV2, now time.Time) {
	l.AvgSlotOccupancySeconds = initialOccupancy
	l.ActiveAt, l.DeniedAt = timestamppb.New(now), timestamppb.New(now)
}
