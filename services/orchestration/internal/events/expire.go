package events

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// expired is the filter of expired events. Their age counts from the reception: clients may send events of the past. The
// condition on the occurrence, which is rarely later, is what the index serves.
func expired(e store.Expired) bson.D { return append(e.Filter("occurred"), e.Filter("received")...) }

// CountExpired counts expired events, up to a limit.
func (s *Service) CountExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (int64, error) {
	return s.events.Count(ctx, ws, store.Query{Filter: expired(e), Limit: limit})
}

// DeleteExpired deletes the oldest expired events, at most limit.
func (s *Service) DeleteExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (store.Expiry, error) {
	return store.DeleteOldest(ctx, s.events, ws, expired(e), "occurred", limit)
}
