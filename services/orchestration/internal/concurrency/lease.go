package concurrency

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ErrLeaseGone means that a lease was ended, or expired and its slots were released.
var ErrLeaseGone = errors.New("lease ended or expired")

// Renew extends a lease to the duration from now, or returns ErrLeaseGone.
func (l *Limits) Renew(ctx context.Context, ws, lease uuid.UUID, duration time.Duration) error {
	limits, err := l.find(ctx, ws, leased(lease))
	if err != nil {
		return err
	}
	expires := timestamppb.New(l.limits.Store().Now().Add(duration))
	renewed := false
	for _, limit := range limits {
		kept := false
		_, err := l.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
			kept = false
			for _, h := range limit.GetHolders() {
				if h.GetLeaseId() == lease.String() && h.Expires != nil {
					h.Expires, kept = expires, true
				}
			}
			return kept, nil
		})
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if !kept {
			// The repossessor visits the limits in the same order, and it was first.
			return ErrLeaseGone
		}
		renewed = true
	}
	empty, err := l.renewEmpty(ctx, ws, lease, expires)
	if err != nil {
		return err
	}
	if !renewed && !empty {
		return ErrLeaseGone
	}
	return nil
}

// renewEmpty renews a lease without slots, and reports whether it exists.
func (l *Limits) renewEmpty(ctx context.Context, ws, lease uuid.UUID, expires *timestamppb.Timestamp) (bool, error) {
	found := false
	_, err := l.leases.Mutate(ctx, ws, lease, func(current *orchv1.ConcurrencyLease, _ int64) (*store.Change[*orchv1.ConcurrencyLease], error) {
		next := proto.Clone(current).(*orchv1.ConcurrencyLease)
		next.Expires, found = expires, true
		return &store.Change[*orchv1.ConcurrencyLease]{Message: next}, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return found, err
}

// holdNothing stores a lease without slots, which its owner renews and ends like any other.
func (l *Limits) holdNothing(ctx context.Context, ws uuid.UUID, lease *Lease) error {
	return l.leases.Insert(ctx, ws, &orchv1.ConcurrencyLease{
		Id: lease.ID.String(), Expires: timestamppb.New(l.leases.Store().Now().Add(lease.Duration)),
	})
}

// Keep makes the slots of a lease permanent until a release by holder: the lease ends, its slots stay taken.
func (l *Limits) Keep(ctx context.Context, ws, lease uuid.UUID) error {
	limits, err := l.find(ctx, ws, leased(lease))
	if err != nil {
		return err
	}
	for _, limit := range limits {
		_, err := l.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
			kept := false
			for _, h := range limit.GetHolders() {
				if h.GetLeaseId() == lease.String() && h.Expires != nil {
					h.Expires, kept = nil, true
				}
			}
			return kept, nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// KindOrphans is the effect that stores the leases on a deleted limit until they expire: their holders continue to
// renew them.
const KindOrphans = "concurrency_lease"

func (l *Limits) orphans(ws uuid.UUID, limit *orchv1.ConcurrencyLimitV2) (store.Effect, error) {
	s := l.limits.Store()
	return store.MessageEffect(KindOrphans, s.NewID(), s.Now(), ws, limit)
}

// KeepOrphans executes effects of that kind.
func (l *Limits) KeepOrphans(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		limit := &orchv1.ConcurrencyLimitV2{}
		ws, err := e.DecodeMessage(limit)
		if err != nil {
			return err
		}
		var docs []bson.Raw
		for _, h := range limit.GetHolders() {
			if h.Expires == nil {
				continue
			}
			doc, err := store.NewDocument(ws, &orchv1.ConcurrencyLease{Id: h.GetLeaseId(), Expires: h.GetExpires()}, time.Time{})
			if err != nil {
				return err
			}
			docs = append(docs, doc)
		}
		if err := l.leases.InsertNew(ctx, docs); err != nil {
			return err
		}
	}
	return nil
}
