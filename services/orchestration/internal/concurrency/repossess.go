package concurrency

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Repossessor frees the slots of expired leases again and again. It needs no lease of its own: a slot comes back once,
// however many replicas look for it. So a replica that dies delays nothing.
type Repossessor struct {
	// Every is the period. A leaked slot is back within its lease and this time.
	Every time.Duration
	// Do is one pass: Limits.Repossess with what observes it.
	Do  func(context.Context) error
	Log *slog.Logger
}

// Name implements run.Worker.
func (r Repossessor) Name() string { return "repossessor" }

// Run repossesses until the context ends.
func (r Repossessor) Run(ctx context.Context) error {
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	for {
		if err := r.Do(ctx); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "failed to release expired leases", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Repossess frees the slots of all leases that have expired by now, and removes those that hold none. It returns how many
// leases had slots.
func (l *Limits) Repossess(ctx context.Context) (freed int, err error) {
	now := l.limits.Store().Now()
	type key struct{ ws, lease uuid.UUID }
	var order []key
	seen := map[key]bool{}
	err = l.limits.EachAcross(ctx, store.Query{Filter: bson.D{{Key: "holders.expires", Value: bson.D{{Key: "$lte", Value: now.UnixMicro()}}}}},
		func(ws uuid.UUID, limit *orchv1.ConcurrencyLimitV2) error {
			for _, h := range limit.GetHolders() {
				lease, err := uuid.Parse(h.GetLeaseId())
				if err != nil || !expired(h, now) || seen[key{ws, lease}] {
					continue
				}
				seen[key{ws, lease}] = true
				order = append(order, key{ws, lease})
			}
			return nil
		})
	if err != nil {
		return 0, err
	}
	pass := l.limits.Store().Pass(ctx, "free the slots of an expired lease")
	for _, k := range order {
		released, err := l.repossess(ctx, k.ws, k.lease)
		if released {
			freed++
		}
		if pass.Record(err, "workspace", k.ws, "lease_id", k.lease) != nil {
			break
		}
	}
	return freed, errors.Join(pass.Err(), l.forget(ctx, now))
}

// repossess gives the slots of one lease back, limit by limit in the order in which it is renewed, unless it was renewed
// meanwhile. It reports whether it freed any.
func (l *Limits) repossess(ctx context.Context, ws, lease uuid.UUID) (freed bool, err error) {
	limits, err := l.find(ctx, ws, leased(lease))
	if err != nil {
		return false, err
	}
	for _, limit := range limits {
		gone := false
		_, err := l.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
			now := l.limits.Store().Now()
			gone = drop(limit, func(h *orchv1.ConcurrencySlotHolder) bool {
				return h.GetLeaseId() == lease.String() && expired(h, now)
			}, now)
			return gone, nil
		})
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil || !gone {
			return freed, err
		}
		freed = true
	}
	return freed, nil
}

func expired(h *orchv1.ConcurrencySlotHolder, now time.Time) bool {
	return h.Expires != nil && !h.GetExpires().AsTime().After(now)
}

// forget deletes expired leases without slots.
func (l *Limits) forget(ctx context.Context, now time.Time) error {
	over := bson.E{Key: "expires", Value: bson.D{{Key: "$lte", Value: now.UnixMicro()}}}
	spaces := map[uuid.UUID]bool{}
	err := l.leases.EachAcross(ctx, store.Query{Filter: bson.D{over}}, func(ws uuid.UUID, _ *orchv1.ConcurrencyLease) error {
		spaces[ws] = true
		return nil
	})
	if err != nil {
		return err
	}
	pass := l.leases.Store().Pass(ctx, "delete expired leases")
	for ws := range spaces {
		if pass.Record(l.leases.DeleteMany(ctx, ws, bson.D{over}), "workspace", ws) != nil {
			break
		}
	}
	return pass.Err()
}
