package tenancy

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// EnforcesWebhookAuthentication reports whether the account forbids enabled webhooks without a service account. A
// deleted account forbids them.
func (r *Registry) EnforcesWebhookAuthentication(ctx context.Context, account uuid.UUID) (bool, error) {
	a, err := r.Accounts.Get(ctx, Server, account)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read webhook authentication setting: %w", err)
	}
	return a.GetSettings().GetEnforceWebhookAuthentication(), nil
}

// HasServiceAccount reports whether an account has a service account.
func (r *Registry) HasServiceAccount(ctx context.Context, account, id uuid.UUID) (bool, error) {
	_, err := r.ServiceAccounts.Get(ctx, account, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// CheckBinding rejects binding a webhook to an unknown service account, or under a plan without service accounts.
func (r *Registry) CheckBinding(ctx context.Context, account uuid.UUID, serviceAccount string) error {
	if err := r.Require(ctx, account, WebhookAuthentication); err != nil {
		return err
	}
	id, err := uuid.Parse(serviceAccount)
	var found bool
	if err == nil {
		found, err = r.HasServiceAccount(ctx, account, id)
		if err != nil {
			return err
		}
	}
	if !found {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, the account has no service account of this id", "service_account_id"))
	}
	return nil
}
