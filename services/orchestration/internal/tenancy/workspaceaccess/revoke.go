package workspaceaccess

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// RevokeUserAccess takes a user's role away.
func (s *Service) RevokeUserAccess(ctx context.Context, r *orchv1.RevokeUserAccessRequest) (*emptypb.Empty, error) {
	return s.revoke(ctx, r.GetId(), isUser)
}

// RevokeBotAccess takes a service account's role away.
func (s *Service) RevokeBotAccess(ctx context.Context, r *orchv1.RevokeBotAccessRequest) (*emptypb.Empty, error) {
	return s.revoke(ctx, r.GetId(), isBot)
}

func (s *Service) revoke(ctx context.Context, text string, kind func(*orchv1.WorkspaceAccess) bool) (*emptypb.Empty, error) {
	info, id, err := tenancy.Locate(ctx, text, noun)
	if err != nil {
		return nil, err
	}
	of := s.registry
	err = of.Access.Delete(ctx, info.Workspace, id, func(current *orchv1.WorkspaceAccess) ([]store.Effect, error) {
		if !kind(current) {
			return nil, store.ErrNotFound
		}
		if err := s.mayTake(ctx, info, current); err != nil {
			return nil, err
		}
		return of.Effects(info, of.Follow(directory.Access, info.Workspace, id), deed(info, current, id, "deleted"))
	})
	if err != nil {
		return nil, tenancy.Missing(err, noun)
	}
	of.Spread(ctx, query.WorkspaceAccess, id)
	return &emptypb.Empty{}, nil
}
