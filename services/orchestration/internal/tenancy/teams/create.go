package teams

import (
	"context"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// CreateTeam creates a team without members.
func (s *Service) CreateTeam(ctx context.Context, r *orchv1.CreateTeamRequest) (*orchv1.Team, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	reg := s.registry
	if _, err := reg.Accounts.Get(ctx, tenancy.Server, info.Account); err != nil {
		return nil, tenancy.Missing(err, "Account")
	}
	id := reg.Store.NewID()
	t := &orchv1.Team{
		Id: id.String(), AccountId: info.Account.String(), Name: r.GetTeam().GetName(), Description: r.GetTeam().Description,
	}
	return t, s.teams.Insert(ctx, info, info.Account, id, t)
}
