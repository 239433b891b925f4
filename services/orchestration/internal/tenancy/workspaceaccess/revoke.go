package workspaceaccess

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// RevokeUserAccess revokes a user's role.
func (s *Service) RevokeUserAccess(ctx context.Context, r *orchv1.RevokeUserAccessRequest) (*emptypb.Empty, error) {
	return s.revoke(ctx, r.GetId(), isUser)
}

// RevokeBotAccess revokes a service account's role.
func (s *Service) RevokeBotAccess(ctx context.Context, r *orchv1.RevokeBotAccessRequest) (*emptypb.Empty, error) {
	return s.revoke(ctx, r.GetId(), isBot)
}

func (s *Service) revoke(ctx context.Context, text string, kind func(*orchv1.WorkspaceAccess) bool) (*emptypb.Empty, error) {
	info, id, err := tenancy.Locate(ctx, text, noun)
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.access.Delete(ctx, info, info.Workspace, id, func(current *orchv1.WorkspaceAccess) ([]store.Effect, error) {
		if !kind(current) {
			return nil, store.ErrNotFound
		}
		return nil, s.mayTake(ctx, info, current)
	})
}

// RevokeTeamAccess revokes a team's role.
func (s *Service) RevokeTeamAccess(ctx context.Context, r *orchv1.RevokeTeamAccessRequest) (*emptypb.Empty, error) {
	info, team, err := tenancy.Locate(ctx, r.GetTeamId(), noun)
	if err != nil {
		return nil, err
	}
	grant, err := s.registry.Access.First(ctx, info.Workspace, bson.D{{Key: "actor_id", Value: store.Binary(team)}})
	if err != nil {
		return nil, tenancy.Missing(err, noun)
	}
	return s.revoke(ctx, grant.GetId(), isTeam)
}
