package tenancy

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// EnforcesWebhookAuthentication reports whether no webhook of an account may be enabled without a service account. An
// account that is gone enforces it.
func (r *Registry) EnforcesWebhookAuthentication(ctx context.Context, account uuid.UUID) (bool, error) {
	a, err := r.Accounts.Get(ctx, Server, account)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask whether webhooks need authentication: %w", err)
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

// CheckBinding refuses to bind a webhook to a service account that there is not, or that the plan does not include.
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
