// Package accounts stores accounts and their settings.
//
// While an account enforces webhook authentication, none of its webhooks without a service account is enabled. Package
// webhooks checks the setting before it enables a webhook and again afterwards, because the setting may change in
// between.
package accounts

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// Service serves accounts.
type Service struct {
	orchv1.UnimplementedAccountServiceServer
	registry *tenancy.Registry
	quotas   *quotas.Service
	// disable disables the webhooks of an account that have no service account.
	disable func(ctx context.Context, account uuid.UUID) error
	// close deletes the resources of a deleted account.
	close func(ctx context.Context, account uuid.UUID) error
}

// New returns the service.
func New(
	registry *tenancy.Registry, q *quotas.Service, disableOpenWebhooks, closeAccount func(ctx context.Context, account uuid.UUID) error,
) *Service {
	return &Service{registry: registry, quotas: q, disable: disableOpenWebhooks, close: closeAccount}
}

func (s *Service) get(ctx context.Context) (*orchv1.Account, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	a, err := s.registry.Accounts.Get(ctx, tenancy.Server, info.Account)
	return a, tenancy.Missing(err, "Account")
}

// present sets the fields of an account that are computed, not stored.
func (s *Service) present(a *orchv1.Account) *orchv1.Account {
	a.Features = tenancy.Features(a.GetPlanType())
	a.SsoState = "none"
	a.AutomationsLimit = s.quotas.Limit(a, quota.Automations)
	if a.Settings == nil {
		a.Settings = &orchv1.AccountSettings{}
	}
	return a
}

// mutate edits the account of the call; edit returns whether it changed anything. A change publishes an audit event.
func (s *Service) mutate(ctx context.Context, kind string, edit func(*orchv1.Account) error) (request.Info, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return info, err
	}
	_, err = s.registry.Accounts.Mutate(ctx, tenancy.Server, info.Account, s.decide(info, kind, edit))
	if err != nil {
		return info, tenancy.Missing(tenancy.Taken(err, "An account with this handle exists already."), "Account")
	}
	return info, nil
}

// ReadAccount returns an account.
func (s *Service) ReadAccount(ctx context.Context, _ *orchv1.ReadAccountRequest) (*orchv1.Account, error) {
	a, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	return s.present(a), nil
}

// ReadAccountSettings returns the settings of an account.
func (s *Service) ReadAccountSettings(ctx context.Context, _ *orchv1.ReadAccountSettingsRequest) (*orchv1.AccountSettings, error) {
	a, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	return s.present(a).GetSettings(), nil
}

// ReadAccountDomains returns an empty list: the server has no domains.
func (s *Service) ReadAccountDomains(ctx context.Context, _ *orchv1.ReadAccountDomainsRequest) (*orchv1.AccountDomainList, error) {
	_, err := s.get(ctx)
	return &orchv1.AccountDomainList{}, err
}
