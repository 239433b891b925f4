package teams

import (
	"context"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// ReadTeam returns a team.
func (s *Service) ReadTeam(ctx context.Context, r *orchv1.ReadTeamRequest) (*orchv1.Team, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	t, err := s.registry.Teams.Get(ctx, info.Account, id)
	return t, tenancy.Missing(err, noun)
}

// ReadTeams returns the matching teams, sorted by name.
func (s *Service) ReadTeams(ctx context.Context, r *orchv1.ReadTeamsRequest) (*orchv1.TeamList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	found, err := tenancy.List(ctx, s.registry.Teams, info.Account, q.GetTeams(), nil, q)
	return &orchv1.TeamList{Teams: found}, err
}
