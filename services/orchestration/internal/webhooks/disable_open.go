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

// DisableOpen disables all webhooks of an account that have no service account, in all of its workspaces.
func (s *Service) DisableOpen(ctx context.Context, account uuid.UUID) error {
	workspaces, err := s.tenancy.Workspaces.Find(ctx, account, store.Query{Sort: bson.D{{Key: "name", Value: 1}}})
	if err != nil {
		return err
	}
	for _, workspace := range workspaces {
		ws, err := uuid.Parse(workspace.GetId())
		if err != nil {
			return err
		}
		isOpen := bson.D{{Key: "enabled", Value: true}, {Key: "service_account_id", Value: bson.D{{Key: "$exists", Value: false}}}}
		err = store.Drain(ctx, s.webhooks, ws, isOpen, func(id uuid.UUID) error { return s.disableOpen(ctx, ws, id) })
		if err != nil {
			return err
		}
		if err := s.spreadUnbound(ctx, ws); err != nil {
			return err
		}
	}
	return nil
}

// spreadUnbound flushes the outboxes of all webhooks without a service account: another process may have disabled some
// of them without having updated their definitions.
func (s *Service) spreadUnbound(ctx context.Context, ws uuid.UUID) error {
	var ids []uuid.UUID
	var bad error
	unbound := bson.D{{Key: "service_account_id", Value: bson.D{{Key: "$exists", Value: false}}}}
	err := s.webhooks.Each(ctx, ws, store.Query{Filter: unbound, Sort: bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}}, func(w *orchv1.Webhook) bool {
		id, err := uuid.Parse(w.GetId())
		ids, bad = append(ids, id), err
		return err == nil
	})
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	for _, id := range ids {
		s.flush.Flush(ctx, query.Webhook, ws, id)
	}
	return nil
}
