package serviceaccounts

import (
	"context"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// CreateServiceAccount creates a service account with a key. Only this response contains the key.
func (s *Service) CreateServiceAccount(ctx context.Context, r *orchv1.CreateServiceAccountRequest) (*orchv1.ServiceAccount, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	create, reg := r.GetServiceAccount(), s.registry
	if err := reg.Require(ctx, info.Account, tenancy.ServiceAccounts); err != nil {
		return nil, err
	}
	expiration, err := reg.Expiration(info.Caller, create.ApiKeyExpiration, "api_key_expiration")
	if err != nil {
		return nil, err
	}
	role := access.AccountMember
	if create.AccountRoleId != nil {
		role = create.GetAccountRoleId()
	}
	if err := reg.CheckAccountRoles(ctx, info, role); err != nil {
		return nil, err
	}
	end, err := s.quotas.Begin(ctx, info.Account, quota.APIKeys)
	if err != nil {
		return nil, err
	}
	defer end()
	id := reg.Store.NewID()
	stored, shown := reg.NewKey(reg.Vocabulary.BotKeyPrefix(), create.GetName(), expiration)
	b := &orchv1.ServiceAccount{
		Id: id.String(), ActorId: reg.Store.NewID().String(), AccountId: info.Account.String(), Name: create.GetName(),
		AccountRoleId: role, Keys: []*orchv1.ApiKey{stored},
	}
	if err := s.accounts.Insert(ctx, info, info.Account, id, b); err != nil {
		return nil, err
	}
	present(b).ApiKey = shown
	return b, nil
}
