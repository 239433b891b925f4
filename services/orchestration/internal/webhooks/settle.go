package webhooks

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// settle checks a webhook again after a write, and updates its watch. It disables an open webhook if enforcement was switched on concurrently,
// and deletes a webhook if its service account was deleted concurrently. It deletes watch and samples of a webhook that was deleted.
func (s *Service) settle(ctx context.Context, ws, id uuid.UUID) error {
	w, err := s.webhooks.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return errors.Join(s.unwatch(ctx, ws, id), s.samples.DeleteMany(ctx, ws, ofWebhook(id)))
	}
	if err != nil {
		return err
	}
	if err := s.follow(ctx, ws, id, w); err != nil {
		return err
	}
	if open(w) {
		forbidden, err := s.enforced(ctx, w)
		if err != nil || !forbidden {
			return err
		}
		return s.disableOpen(ctx, ws, id)
	}
	if w.ServiceAccountId == nil {
		return nil
	}
	account, err := uuid.Parse(w.GetAccount())
	if err != nil {
		return err
	}
	bound, err := uuid.Parse(w.GetServiceAccountId())
	if err != nil {
		return err
	}
	exists, err := s.tenancy.HasServiceAccount(ctx, account, bound)
	if err != nil || exists {
		return err
	}
	return s.deleteBound(ctx, ws, id, w.GetServiceAccountId())
}

// disableOpen disables a webhook if it is still open.
func (s *Service) disableOpen(ctx context.Context, ws, id uuid.UUID) error {
	edit := func(next *orchv1.Webhook) error {
		if open(next) {
			next.Enabled = false
		}
		return nil
	}
	_, err := s.webhooks.Mutate(ctx, ws, id, store.Edit(edit, func(_, next *orchv1.Webhook) ([]store.Effect, error) {
		audited, err := s.audited(request.Info{}, ws, next, "updated")
		return []store.Effect{s.publish(ws, id, next.GetSlug()), audited}, err
	}))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// deleteBound deletes a webhook if it is still bound to a deleted service account.
func (s *Service) deleteBound(ctx context.Context, ws, id uuid.UUID, serviceAccount string) error {
	err := s.webhooks.Delete(ctx, ws, id, func(current *orchv1.Webhook) ([]store.Effect, error) {
		if current.GetServiceAccountId() != serviceAccount {
			return nil, store.ErrNotFound // It was bound to another one concurrently.
		}
		audited, err := s.audited(request.Info{}, ws, current, "deleted")
		return []store.Effect{s.publish(ws, id, current.GetSlug()), audited}, err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
