package webhooks

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteOfServiceAccount deletes the webhooks that are bound to a service account, in all workspaces.
func (s *Service) DeleteOfServiceAccount(ctx context.Context, _, serviceAccount uuid.UUID) error {
	type bound struct{ ws, id uuid.UUID }
	var all []bound
	err := s.webhooks.EachAcross(ctx, bson.D{{Key: "service_account_id", Value: store.Binary(serviceAccount)}}, func(ws uuid.UUID, w *orchv1.Webhook) error {
		id, err := uuid.Parse(w.GetId())
		all = append(all, bound{ws, id})
		return err
	})
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := s.deleteBound(ctx, one.ws, one.id, serviceAccount.String()); err != nil {
			return err
		}
		s.flush.Flush(ctx, query.Webhook, one.ws, one.id)
	}
	return nil
}

// DeleteOfWorkspace deletes the webhooks of a deleted workspace.
func (s *Service) DeleteOfWorkspace(ctx context.Context, ws uuid.UUID) error {
	return s.webhooks.Drain(ctx, ws, nil, func(id uuid.UUID) error {
		err := s.webhooks.Delete(ctx, ws, id, func(current *orchv1.Webhook) ([]store.Effect, error) {
			return []store.Effect{s.publish(ws, id, current.GetSlug())}, nil
		})
		s.flush.Flush(ctx, query.Webhook, ws, id)
		return err
	})
}
