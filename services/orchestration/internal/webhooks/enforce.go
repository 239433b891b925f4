package webhooks

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// An account may enforce that no webhook is enabled without a service account. The switch and the webhooks are different
// documents, and both may change at once:
//
//	switch on ──► disable all that are open ──► answer        (package accounts)
//	look at the switch ──► write the webhook ──► look again: disable ──► catalogue ──► answer
//
// A webhook that was written before the first line's second step is found by it; one that was written later finds the
// switch when it looks again. Looking again is an effect of the write, so that no crash leaves it out. Between the two,
// neither the catalogue nor any answer says that the webhook is enabled.

var errOpen = rpc.Invalid(rpc.BodyFault("value_error",
	"Value error, the account demands authentication of webhooks: an enabled webhook needs a service account", "service_account_id"))

// open tells whether a webhook takes requests without a credential.
func open(w *orchv1.Webhook) bool { return w.GetEnabled() && w.ServiceAccountId == nil }

// enforced tells whether an account forbids open webhooks.
func (s *Service) enforced(ctx context.Context, w *orchv1.Webhook) (bool, error) {
	account, err := uuid.Parse(w.GetAccount())
	if err != nil {
		return true, nil //nolint:nilerr // Nobody's webhook is nobody's to open.
	}
	return s.tenancy.EnforcesWebhookAuthentication(ctx, account)
}

// check refuses what may not be written: an open webhook under enforcement, or a service account that is none. Before is
// nil for a new webhook, which needs a service account even when it is disabled.
func (s *Service) check(ctx context.Context, info request.Info, before, w *orchv1.Webhook) error {
	if id := w.ServiceAccountId; id != nil && (before.GetServiceAccountId() != *id || before == nil) {
		return s.tenancy.CheckBinding(ctx, info.Account, *id)
	}
	if !open(w) && (before != nil || w.ServiceAccountId != nil) {
		return nil
	}
	forbidden, err := s.enforced(ctx, w)
	if err == nil && forbidden {
		err = errOpen
	}
	return err
}

// settle looks again, after a write: an open webhook is disabled if the switch was thrown meanwhile, and one whose
// service account was deleted meanwhile goes with it.
func (s *Service) settle(ctx context.Context, ws, id uuid.UUID) error {
	w, err := s.webhooks.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
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
	_, err := s.webhooks.Mutate(ctx, ws, id, func(current *orchv1.Webhook, _ int64) (*store.Change[*orchv1.Webhook], error) {
		if !open(current) {
			return nil, nil
		}
		next := proto.Clone(current).(*orchv1.Webhook)
		next.Enabled = false
		told, err := s.told(request.Info{}, ws, next, "updated")
		return &store.Change[*orchv1.Webhook]{Message: next, Effects: []store.Effect{s.publish(ws, id, next.GetSlug()), told}}, err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// deleteBound deletes a webhook if it is still bound to a service account that is gone.
func (s *Service) deleteBound(ctx context.Context, ws, id uuid.UUID, serviceAccount string) error {
	err := s.webhooks.Delete(ctx, ws, id, func(current *orchv1.Webhook) ([]store.Effect, error) {
		if current.GetServiceAccountId() != serviceAccount {
			return nil, store.ErrNotFound // It was bound to another one meanwhile.
		}
		told, err := s.told(request.Info{}, ws, current, "deleted")
		return []store.Effect{s.publish(ws, id, current.GetSlug()), told}, err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// told is the effect that tells what was done to a webhook.
func (s *Service) told(info request.Info, ws uuid.UUID, w *orchv1.Webhook, action string) (store.Effect, error) {
	var err error
	if info.Account, err = uuid.Parse(w.GetAccount()); err != nil {
		return store.Effect{}, err
	}
	id, err := uuid.Parse(w.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	return s.tenancy.Audit(info, tenancy.Deed{Kind: "webhook", Action: action, Of: id, Name: w.GetName(), Workspace: ws})
}

// hide shows an open webhook as what it is about to be when its account forbids it.
func (s *Service) hide(ctx context.Context, webhooks ...*orchv1.Webhook) error {
	for _, w := range webhooks {
		if !open(w) {
			continue
		}
		forbidden, err := s.enforced(ctx, w)
		if err != nil {
			return err
		}
		if !forbidden {
			return nil // All are of one account.
		}
		w.Enabled = false
	}
	return nil
}

// DisableOpen disables all webhooks of an account that have no service account, in all of its workspaces.
func (s *Service) DisableOpen(ctx context.Context, account uuid.UUID) error {
	workspaces, err := s.tenancy.Workspaces.Find(ctx, account, bson.D{}, bson.D{{Key: "name", Value: 1}}, 0, -1)
	if err != nil {
		return err
	}
	for _, one := range workspaces {
		ws, err := uuid.Parse(one.GetId())
		if err != nil {
			return err
		}
		isOpen := bson.D{{Key: "enabled", Value: true}, {Key: "service_account_id", Value: bson.D{{Key: "$exists", Value: false}}}}
		err = s.webhooks.Drain(ctx, ws, isOpen, func(id uuid.UUID) error { return s.disableOpen(ctx, ws, id) })
		if err != nil {
			return err
		}
		if err := s.spreadUnbound(ctx, ws); err != nil {
			return err
		}
	}
	return nil
}

// spreadUnbound carries the changes of all webhooks without a service account to the catalogue: somebody else may have
// disabled some of them, who has not come to that yet.
func (s *Service) spreadUnbound(ctx context.Context, ws uuid.UUID) error {
	var ids []uuid.UUID
	var bad error
	unbound := bson.D{{Key: "service_account_id", Value: bson.D{{Key: "$exists", Value: false}}}}
	err := s.webhooks.Each(ctx, ws, unbound, bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}, func(w *orchv1.Webhook) bool {
		id, err := uuid.Parse(w.GetId())
		ids, bad = append(ids, id), err
		return err == nil
	})
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	for _, id := range ids {
		s.spread(ctx, id)
	}
	return nil
}

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
		s.spread(ctx, one.id)
	}
	return nil
}

// DeleteOfWorkspace deletes the webhooks of a workspace that is gone.
func (s *Service) DeleteOfWorkspace(ctx context.Context, ws uuid.UUID) error {
	return s.webhooks.Drain(ctx, ws, nil, func(id uuid.UUID) error {
		err := s.webhooks.Delete(ctx, ws, id, func(current *orchv1.Webhook) ([]store.Effect, error) {
			return []store.Effect{s.publish(ws, id, current.GetSlug())}, nil
		})
		s.spread(ctx, id)
		return err
	})
}
