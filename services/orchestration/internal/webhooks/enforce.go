package webhooks

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// An account may enforce that no webhook is enabled without a service account. The switch and the webhooks are different
// documents, and both may change at once:
//
//	switch on ──► disable all that are open ──► answer        (package accounts)
//	look at the switch ──► write the webhook ──► look again: disable ──► definition bucket ──► answer
//
// A webhook that was written before the first line's second step is found by it; one that was written later finds the
// switch when it looks again. Looking again is an effect of the write, so that no crash leaves it out. Between the two,
// neither the definition bucket nor any answer says that the webhook is enabled.

var errOpen = rpc.Invalid(rpc.BodyError("value_error",
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
