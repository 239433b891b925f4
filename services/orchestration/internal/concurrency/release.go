package concurrency

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// byLease matches the holder of a lease.
func byLease(lease uuid.UUID) func(*orchv1.ConcurrencySlotHolder) bool {
	text := lease.String()
	return func(h *orchv1.ConcurrencySlotHolder) bool { return h.GetLeaseId() == text }
}

// byHolder matches the slots of a holder.
func byHolder(kind orchv1.ConcurrencyHolderType, id uuid.UUID) func(*orchv1.ConcurrencySlotHolder) bool {
	text := id.String()
	return func(h *orchv1.ConcurrencySlotHolder) bool {
		return h.GetHolder().GetType() == kind && h.GetHolder().GetId() == text
	}
}

// remove removes holders from a limit; their slots stay taken.
func remove(limit *orchv1.ConcurrencyLimitV2, chosen func(*orchv1.ConcurrencySlotHolder) bool) []*orchv1.ConcurrencySlotHolder {
	var removed, kept []*orchv1.ConcurrencySlotHolder
	for _, h := range limit.GetHolders() {
		if chosen(h) {
			removed = append(removed, h)
		} else {
			kept = append(kept, h)
		}
	}
	limit.Holders = kept
	return removed
}

func slotsOf(holders []*orchv1.ConcurrencySlotHolder) int64 {
	var n int64
	for _, h := range holders {
		n += h.GetSlots()
	}
	return n
}

// drop removes holders from a limit together with their slots, and updates the average occupancy.
func drop(limit *orchv1.ConcurrencyLimitV2, chosen func(*orchv1.ConcurrencySlotHolder) bool, now time.Time) bool {
	removed := remove(limit, chosen)
	if len(removed) == 0 {
		return false
	}
	setActive(limit, active(limit, now)-slotsOf(removed), now)
	for _, h := range removed {
		fold(limit, since(h.GetSince(), now), h.GetSlots())
	}
	return true
}

// Release releases the slots of a lease, and ends it. It ignores an ended lease.
func (l *Limits) Release(ctx context.Context, ws, lease uuid.UUID) error {
	limits, err := l.find(ctx, ws, leased(lease))
	if err != nil {
		return err
	}
	if err := l.dropFrom(ctx, ws, limits, byLease(lease)); err != nil {
		return err
	}
	return l.leases.DeleteMany(ctx, ws, bson.D{{Key: "_id", Value: store.Binary(lease)}})
}

// ReleaseHolder releases the slots of a holder, and returns the limits that exist.
func (l *Limits) ReleaseHolder(ctx context.Context, ws uuid.UUID, names []string, kind orchv1.ConcurrencyHolderType, id uuid.UUID) ([]*orchv1.ConcurrencyLimitV2, error) {
	limits, err := l.find(ctx, ws, named(names))
	if err != nil {
		return nil, err
	}
	return limits, l.dropFrom(ctx, ws, limits, byHolder(kind, id))
}

func (l *Limits) dropFrom(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, chosen func(*orchv1.ConcurrencySlotHolder) bool) error {
	for _, limit := range limits {
		_, err := l.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
			return drop(limit, chosen, l.limits.Store().Now()), nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// Decrement releases slots of the named limits by count. It returns those limits, including inactive ones, which have
// none to release. occupancy is the time in seconds that the slots were held; nil = unknown.
func (l *Limits) Decrement(ctx context.Context, ws uuid.UUID, names []string, slots int64, occupancy *float64) ([]*orchv1.ConcurrencyLimitV2, error) {
	limits, err := l.find(ctx, ws, named(names))
	if err != nil {
		return nil, err
	}
	for _, limit := range limits {
		_, err := l.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
			if !limit.GetActive() {
				return false, nil
			}
			now := l.limits.Store().Now()
			setActive(limit, active(limit, now)-slots, now)
			if occupancy != nil {
				fold(limit, *occupancy, slots)
			}
			return true, nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	return limits, nil
}
