package webhooks

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// An account may enforce that every enabled webhook has a service account. The setting and the webhooks are different
// documents, and both may change concurrently:
//
//	enforce ──► disable all open webhooks ──► response        (package accounts)
//	check enforcement ──► write the webhook ──► check again: disable ──► definition bucket ──► response
// The first line disables a webhook that was written before its second step. A webhook that is written later is
// disabled by its own second check. That check is an effect of the write, so no crash skips it. Between the two,
// neither the definition bucket nor any response shows the webhook as enabled.

var errOpen = rpc.Invalid(rpc.BodyError("value_error",
	"Value error, the account demands authentication of webhooks: an enabled webhook needs a service account", "service_account_id"))

// open reports whether a webhook accepts requests without a credential.
func open(w *orchv1.Webhook) bool { return w.GetEnabled() && w.ServiceAccountId == nil }

// enforced reports whether an account forbids open webhooks.
func (s *Service) enforced(ctx context.Context, w *orchv1.Webhook) (bool, error) {
	account, err := uuid.Parse(w.GetAccount())
	if err != nil {
		return true, nil //nolint:nilerr // A webhook without an account must not be open.
	}
	return s.tenancy.EnforcesWebhookAuthentication(ctx, account)
}

// check refuses an open webhook under enforcement, and an unknown service account. before is nil for a new webhook,
// which needs a service account even when it is disabled.
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

// hide presents an open webhook as disabled when its account forbids it.
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
			return nil // All webhooks have the same account.
		}
		w.Enabled = false
	}
	return nil
}
