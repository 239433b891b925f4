package accounts

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// DisableAllowlists disables the enforcement of all allowlists and returns how many there were. The lists are kept. Each
// account gets an audit event.
func (s *Service) DisableAllowlists(ctx context.Context) (int, error) {
	all, err := store.AllAcross(ctx, s.registry.Accounts, nil)
	opened := 0
	pass := s.registry.Store.Pass(ctx, "open the allowlist of an account")
	for _, one := range all {
		if !one.Message.GetSettings().GetEnforceIpAllowlist() {
			continue
		}
		err := s.openAllowlist(ctx, one.Message)
		if err == nil {
			opened++
		}
		if pass.Record(err, "account", one.Message.GetId()) != nil {
			break
		}
	}
	return opened, errors.Join(err, pass.Err())
}

func (s *Service) openAllowlist(ctx context.Context, a *orchv1.Account) error {
	id, err := uuid.Parse(a.GetId())
	if err != nil {
		return fmt.Errorf("read the id of an account: %w", err)
	}
	open := s.decide(request.Info{Account: id}, "account-settings", func(a *orchv1.Account) error {
		a.Settings.EnforceIpAllowlist = false
		return nil
	})
	if _, err := s.registry.Accounts.Mutate(ctx, tenancy.Server, id, open); err != nil {
		return err
	}
	s.registry.FlushEffects(ctx, query.Account, id)
	return nil
}
