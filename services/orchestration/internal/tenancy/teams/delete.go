package teams

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// DeleteTeam deletes a team, then its roles in workspaces.
func (s *Service) DeleteTeam(ctx context.Context, r *orchv1.DeleteTeamRequest) (*emptypb.Empty, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	of := s.registry
	err = of.Teams.Delete(ctx, info.Account, id, func(current *orchv1.Team) ([]store.Effect, error) {
		effects, err := of.Effects(info, of.Follow(directory.Team, info.Account, id), deed(current, id, "deleted"))
		return append(effects, of.Dismiss(info.Account, id)), err
	})
	if err != nil {
		return nil, tenancy.Missing(err, noun)
	}
	of.Spread(ctx, query.Team, id)
	return &emptypb.Empty{}, nil
}

// DeleteOfAccount deletes the teams of a deleted account.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	of := s.registry
	return of.Teams.Drain(ctx, account, nil, func(id uuid.UUID) error {
		err := of.Teams.Delete(ctx, account, id, func(*orchv1.Team) ([]store.Effect, error) {
			return []store.Effect{of.Follow(directory.Team, account, id)}, nil
		})
		if err == nil {
			of.Spread(ctx, query.Team, id)
		}
		return err
	})
}
