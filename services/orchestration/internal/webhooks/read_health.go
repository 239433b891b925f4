package webhooks

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// addHealth sets the health of webhooks of one workspace.
func (s *Service) addHealth(ctx context.Context, ws uuid.UUID, webhooks ...*orchv1.Webhook) error {
	if len(webhooks) == 0 {
		return nil
	}
	ids := make(bson.A, len(webhooks))
	for i, w := range webhooks {
		id, err := uuid.Parse(w.GetId())
		if err != nil {
			return err
		}
		ids[i] = store.Binary(id)
	}
	watches, err := s.watches.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, Sort: bson.D{{Key: "_id", Value: 1}}, Limit: int64(len(ids))})
	if err != nil {
		return err
	}
	byID := map[string]*orchv1.WebhookWatch{}
	for _, watch := range watches {
		byID[watch.GetId()] = watch
	}
	now := s.watches.Store().Now()
	for _, w := range webhooks {
		w.Health = s.health.Show(byID[w.GetId()], now)
	}
	return nil
}
