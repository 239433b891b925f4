package webhooks

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CountExpired counts the expired deliveries of all webhooks by their reception, up to a limit.
func (s *Service) CountExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (int64, error) {
	var total int64
	err := s.eachLog(ctx, ws, func(webhook uuid.UUID) (bool, error) {
		n, err := s.deliveries.Count(ctx, ws, store.Query{Filter: append(ofWebhook(webhook), e.Filter("received")...), Limit: limit - total})
		total += n
		return total < limit, err
	})
	return total, err
}

// DeleteExpired deletes expired deliveries, the oldest of each webhook first, at most limit.
func (s *Service) DeleteExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (store.Expiry, error) {
	var total store.Expiry
	err := s.eachLog(ctx, ws, func(webhook uuid.UUID) (bool, error) {
		filter := append(ofWebhook(webhook), e.Filter("received")...)
		one, err := store.DeleteOldest(ctx, s.deliveries, ws, filter, "received", limit-total.Deleted)
		total.Deleted += one.Deleted
		total.More = total.More || one.More
		return total.Deleted < limit, err
	})
	return total, err
}

// eachLog calls visit with each webhook of a workspace until it returns false. Index and delivery log are by webhook.
func (s *Service) eachLog(ctx context.Context, ws uuid.UUID, visit func(webhook uuid.UUID) (more bool, err error)) error {
	var failed error
	err := s.webhooks.Each(ctx, ws, store.Query{Sort: bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}}, func(w *orchv1.Webhook) bool {
		id, err := resourceid.Parse(w.GetId())
		more := false
		if err == nil {
			more, err = visit(id)
		}
		failed = err
		return more && err == nil
	})
	if failed != nil {
		return failed
	}
	return err
}
