package workspaces

import (
	"context"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// ReadWorkspace returns a workspace.
func (s *Service) ReadWorkspace(ctx context.Context, r *orchv1.ReadWorkspaceRequest) (*orchv1.Workspace, error) {
	info, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	w, err := s.registry.Workspaces.Get(ctx, info.Account, id)
	return w, tenancy.Missing(err, "Workspace")
}
