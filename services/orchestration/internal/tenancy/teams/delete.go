package teams

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// DeleteTeam deletes a team, then its roles in workspaces.
func (s *Service) DeleteTeam(ctx context.Context, r *orchv1.DeleteTeamRequest) (*emptypb.Empty, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.teams.Delete(ctx, info, info.Account, id, func(*orchv1.Team) ([]store.Effect, error) {
		return []store.Effect{s.registry.RemoveActor(info.Account, id)}, nil
	})
}

// DeleteOfAccount deletes the teams of a deleted account.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	return s.teams.DeleteOf(ctx, account, nil)
}
