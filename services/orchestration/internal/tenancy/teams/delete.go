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
	reg := s.registry
	err = reg.Teams.Delete(ctx, info.Account, id, func(current *orchv1.Team) ([]store.Effect, error) {
		effects, err := reg.Effects(info, reg.Follow(directory.Team, info.Account, id), auditEntry(current, id, "deleted"))
		return append(effects, reg.RemoveActor(info.Account, id)), err
	})
	if err != nil {
		return nil, tenancy.Missing(err, noun)
	}
	reg.FlushEffects(ctx, query.Team, id)
	return &emptypb.Empty{}, nil
}

// DeleteOfAccount deletes the teams of a deleted account.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	reg := s.registry
	return reg.Teams.Drain(ctx, account, nil, func(id uuid.UUID) error {
		err := reg.Teams.Delete(ctx, account, id, func(*orchv1.Team) ([]store.Effect, error) {
			return []store.Effect{reg.Follow(directory.Team, account, id)}, nil
		})
		if err == nil {
			reg.FlushEffects(ctx, query.Team, id)
		}
		return err
	})
}
