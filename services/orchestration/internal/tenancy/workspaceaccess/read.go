package workspaceaccess

import (
	"context"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// ReadUserAccess answers a user's access.
func (s *Service) ReadUserAccess(ctx context.Context, r *orchv1.ReadUserAccessRequest) (*orchv1.WorkspaceAccess, error) {
	return s.read(ctx, r.GetId(), isUser)
}

// ReadBotAccess answers a service account's access.
func (s *Service) ReadBotAccess(ctx context.Context, r *orchv1.ReadBotAccessRequest) (*orchv1.WorkspaceAccess, error) {
	return s.read(ctx, r.GetId(), isBot)
}

func (s *Service) read(ctx context.Context, text string, of func(*orchv1.WorkspaceAccess) bool) (*orchv1.WorkspaceAccess, error) {
	info, id, err := tenancy.Locate(ctx, text, noun)
	if err != nil {
		return nil, err
	}
	a, err := s.registry.Access.Get(ctx, info.Workspace, id)
	if err == nil && !of(a) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, tenancy.Missing(err, noun)
	}
	return present(info, a), nil
}
