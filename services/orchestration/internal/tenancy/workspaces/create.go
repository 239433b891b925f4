package workspaces

import (
	"context"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// CreateWorkspace creates a workspace.
func (s *Service) CreateWorkspace(ctx context.Context, r *orchv1.CreateWorkspaceRequest) (*orchv1.Workspace, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.registry.Accounts.Get(ctx, tenancy.Server, info.Account); err != nil {
		return nil, tenancy.Missing(err, "Account")
	}
	create, reg := r.GetWorkspace(), s.registry
	id := reg.Store.NewID()
	w := &orchv1.Workspace{
		Id: id.String(), AccountId: info.Account.String(), Name: create.GetName(), Description: create.Description,
		Handle: create.GetHandle(), DefaultWorkspaceRoleId: access.WorkspaceViewer,
	}
	if create.Handle == nil {
		w.Handle = tenancy.Handle(create.GetName())
	}
	return w, s.workspaces.Insert(ctx, info, info.Account, id, w)
}
