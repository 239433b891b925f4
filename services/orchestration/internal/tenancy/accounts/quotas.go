package accounts

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// ReadAccountQuotas returns the quotas of an account with their use.
func (s *Service) ReadAccountQuotas(ctx context.Context, _ *orchv1.ReadAccountQuotasRequest) (*orchv1.AccountQuotaList, error) {
	a, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.quotas.Report(ctx, a)
	return &orchv1.AccountQuotaList{Quotas: list}, err
}

// UpdateAccountQuotas changes the quotas that the request contains; null returns to the server's default. The call names the account,
// because the operator need not be a member of it.
func (s *Service) UpdateAccountQuotas(ctx context.Context, r *orchv1.UpdateAccountQuotasRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	if info.Account, err = resourceid.Parse(r.GetAccountId()); err != nil {
		return nil, tenancy.Missing(store.ErrNotFound, "Account")
	}
	_, err = s.registry.Accounts.Mutate(ctx, tenancy.Server, info.Account, s.decide(info, "account-settings", func(a *orchv1.Account) error {
		if a.Quotas == nil {
			a.Quotas = &orchv1.AccountQuotas{}
		}
		fieldmask.Apply(a.GetQuotas(), r.GetQuotas(), r.GetUpdateMask().GetPaths())
		return nil
	}))
	if err != nil {
		return nil, tenancy.Missing(err, "Account")
	}
	s.registry.FlushEffects(ctx, query.Account, info.Account)
	return &emptypb.Empty{}, nil
}
