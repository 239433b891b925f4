package webhooks

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteOfServiceAccount deletes the webhooks that are bound to a service account, in all workspaces.
func (s *Service) DeleteOfServiceAccount(ctx context.Context, _, serviceAccount uuid.UUID) error {
	bound, err := store.AllAcross(ctx, s.webhooks, bson.D{{Key: "service_account_id", Value: store.Binary(serviceAccount)}})
	pass := s.webhooks.Store().Pass(ctx, "delete a webhook of a service account")
	for _, one := range bound {
		id, err := uuid.Parse(one.Message.GetId())
		if err == nil {
			err = s.deleteBound(ctx, one.Workspace, id, serviceAccount.String())
		}
		if pass.Record(err, "workspace", one.Workspace, "webhook_id", one.Message.GetId()) != nil {
			break
		}
		s.flush.Flush(ctx, query.Webhook, one.Workspace, id)
	}
	return errors.Join(err, pass.Err())
}

// DeleteOfWorkspace deletes the webhooks of a deleted workspace.
func (s *Service) DeleteOfWorkspace(ctx context.Context, ws uuid.UUID) error {
	return store.Drain(ctx, s.webhooks, ws, nil, func(id uuid.UUID) error {
		err := s.webhooks.Delete(ctx, ws, id, func(current *orchv1.Webhook) ([]store.Effect, error) {
			return []store.Effect{s.publish(ws, id, current.GetSlug())}, nil
		})
		s.flush.Flush(ctx, query.Webhook, ws, id)
		return err
	})
}
