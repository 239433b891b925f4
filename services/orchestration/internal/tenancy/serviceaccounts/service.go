// Package serviceaccounts stores service accounts, which paths call bots, and their keys.
//
//	           rotate                       old_key_expires_in_seconds over
//	key ──► two valid keys ──────────────────────────────────────────────────► new key
//
// The keys are part of the service account's document, so a rotation is one write and some key is always valid.
// Deleting a service account deletes its webhooks and its roles in workspaces.
package serviceaccounts

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

const (
	noun = "Service account"
)

// Service serves service accounts.
type Service struct {
	orchv1.UnimplementedServiceAccountServiceServer
	registry *tenancy.Registry
	quotas   *quotas.Service
	accounts tenancy.Resource[*orchv1.ServiceAccount]
	// unbind deletes the webhooks bound to a service account.
	unbind func(ctx context.Context, account, serviceAccount uuid.UUID) error
}

// New returns the service.
func New(registry *tenancy.Registry, q *quotas.Service, deleteWebhooks func(ctx context.Context, account, serviceAccount uuid.UUID) error) *Service {
	return &Service{registry: registry, quotas: q, unbind: deleteWebhooks, accounts: tenancy.Resource[*orchv1.ServiceAccount]{
		Registry: registry, Documents: registry.ServiceAccounts, Kind: directory.ServiceAccount, Noun: noun,
		Taken: "A service account with this name exists in the account already.",
		Audit: func(_ request.Info, b *orchv1.ServiceAccount) tenancy.AuditEntry {
			return tenancy.AuditEntry{Kind: "service-account", Name: b.GetName()}
		},
	}}
}

// present sets the computed fields of a service account. It shows the newest key.
func present(b *orchv1.ServiceAccount) *orchv1.ServiceAccount {
	role, _ := access.AccountRole(b.GetAccountRoleId())
	b.AccountRoleName = role.Name
	if n := len(b.GetKeys()); n > 0 {
		b.ApiKey = tenancy.ShowKey(b.GetKeys()[n-1])
	}
	return b
}

// mutate edits a service account and executes the effects. The caller needs at least the permissions of the service
// account, because its keys grant them.
func (s *Service) mutate(
	ctx context.Context, info request.Info, id uuid.UUID, action string, edit func(next *orchv1.ServiceAccount) error,
) (*orchv1.ServiceAccount, error) {
	permitted := func(next *orchv1.ServiceAccount) error {
		before := next.GetAccountRoleId()
		if err := edit(next); err != nil {
			return err
		}
		return s.registry.CheckAccountRoles(ctx, info, before, next.GetAccountRoleId())
	}
	changed, err := s.accounts.Edit(ctx, info, info.Account, id, action, permitted)
	if err != nil {
		return nil, err
	}
	return present(changed), nil
}

// ReadServiceAccount returns a service account.
func (s *Service) ReadServiceAccount(ctx context.Context, r *orchv1.ReadServiceAccountRequest) (*orchv1.ServiceAccount, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	b, err := s.registry.ServiceAccounts.Get(ctx, info.Account, id)
	if err != nil {
		return nil, tenancy.Missing(err, noun)
	}
	return present(b), nil
}

// ReadServiceAccounts returns the matching service accounts, sorted by name.
func (s *Service) ReadServiceAccounts(ctx context.Context, r *orchv1.ReadServiceAccountsRequest) (*orchv1.ServiceAccountList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	found, err := tenancy.List(ctx, s.registry.ServiceAccounts, info.Account, q.GetServiceAccounts(), nil, q)
	for _, b := range found {
		present(b)
	}
	return &orchv1.ServiceAccountList{ServiceAccounts: found}, err
}

// UpdateServiceAccount changes the fields that the request contains; null leaves a field unchanged.
func (s *Service) UpdateServiceAccount(ctx context.Context, r *orchv1.UpdateServiceAccountRequest) (*emptypb.Empty, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	update := r.GetServiceAccount()
	_, err = s.mutate(ctx, info, id, "updated", func(next *orchv1.ServiceAccount) error {
		if update.Name != nil {
			next.Name = update.GetName()
		}
		if update.AccountRoleId != nil {
			next.AccountRoleId = update.GetAccountRoleId()
		}
		return nil
	})
	return &emptypb.Empty{}, err
}
