package accounts

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// OpenAllowlists disables the enforcement of all allowlists and returns how many there were. The lists are kept. Each
// account gets an audit event.
func (s *Service) OpenAllowlists(ctx context.Context) (int, error) {
	var closed []uuid.UUID
	err := s.registry.Accounts.EachOfAll(ctx, func(_ uuid.UUID, _ int64, a *orchv1.Account) error {
		if !a.GetSettings().GetEnforceIpAllowlist() {
			return nil
		}
		id, err := uuid.Parse(a.GetId())
		closed = append(closed, id)
		return err
	})
	if err != nil {
		return 0, err
	}
	for i, id := range closed {
		open := s.decide(request.Info{Account: id}, "account-settings", func(a *orchv1.Account) error {
			a.Settings.EnforceIpAllowlist = false
			return nil
		})
		if _, err := s.registry.Accounts.Mutate(ctx, tenancy.Server, id, open); err != nil {
			return i, err
		}
		s.registry.Spread(ctx, query.Account, id)
	}
	return len(closed), nil
}
