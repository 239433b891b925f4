package concurrency

import (
	"context"
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxShown bounds the holders and the waiters in a response.
const maxShown = 200

// ReadConcurrencyLimitSlots returns who holds the slots of a limit, and who waits for them.
func (s *Service) ReadConcurrencyLimitSlots(ctx context.Context, r *orchv1.ReadConcurrencyLimitSlotsRequest) (*orchv1.ConcurrencyLimitSlots, error) {
	_, limit, err := s.locate(ctx, r.GetIdOrName())
	if err != nil {
		return nil, translate(err)
	}
	now := s.limits.Store().Now()
	removeWaiters(limit, now, func(*orchv1.ConcurrencySlotWaiter) bool { return false })
	holders := limit.GetHolders()
	slots := &orchv1.ConcurrencyLimitSlots{
		Limit: limit.GetLimit(), ActiveSlots: active(limit, now),
		HolderCount: int64(len(holders)), WaiterCount: int64(len(limit.GetWaiters())),
		Waiters: limit.GetWaiters()[:min(len(limit.GetWaiters()), maxShown)],
	}
	slots.SlotsWithoutLease = max(0, slots.GetActiveSlots()-slotsOf(holders))
	slices.SortStableFunc(holders, func(a, b *orchv1.ConcurrencySlotHolder) int {
		return a.GetSince().AsTime().Compare(b.GetSince().AsTime())
	})
	slots.Holders = holders[:min(len(holders), maxShown)]
	for _, h := range slots.GetHolders() {
		h.Age = since(h.GetSince(), now)
	}
	return slots, nil
}
