package concurrency

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Imported completes a limit of another server into its stored form. Its slots are free: the leases that would release them remained
// on that server.
func Imported(limit *orchv1.ConcurrencyLimitV2, now time.Time) {
	limit.ActiveSlots, limit.Holders, limit.Waiters = 0, nil, nil
	limit.ActiveAt, limit.DeniedAt = timestamppb.New(now), timestamppb.New(now)
}

// ImportedOfTag is the stored form of a limit of the older API.
func ImportedOfTag(limit *orchv1.ConcurrencyLimit, now time.Time) *orchv1.ConcurrencyLimitV2 {
	stored := &orchv1.ConcurrencyLimitV2{
		Id: limit.GetId(), Created: limit.GetCreated(), Updated: limit.GetUpdated(), Active: true,
		Name: tagPrefix + limit.GetTag(), Limit: limit.GetConcurrencyLimit(), AvgSlotOccupancySeconds: initialOccupancy,
	}
	Imported(stored, now)
	return stored
}
