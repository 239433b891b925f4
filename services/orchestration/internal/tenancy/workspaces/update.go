package workspaces

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// UpdateWorkspace changes what was sent. What cannot be absent is left by null.
func (s *Service) UpdateWorkspace(ctx context.Context, r *orchv1.UpdateWorkspaceRequest) (*emptypb.Empty, error) {
	info, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	update, of := r.GetWorkspace(), s.registry
	if role := update.DefaultWorkspaceRoleId; role != nil {
		if _, err := of.RoleScopes(ctx, info.Account, *role); errors.Is(err, store.ErrNotFound) {
			return nil, rpc.Invalid(rpc.BodyFault("value_error", "Value error, no workspace role has this id", "default_workspace_role_id"))
		} else if err != nil {
			return nil, err
		}
	}
	_, err = of.Workspaces.Mutate(ctx, info.Account, id, func(current *orchv1.Workspace, _ int64) (*store.Change[*orchv1.Workspace], error) {
		next := proto.Clone(current).(*orchv1.Workspace)
		edit(next, update, r.GetUpdateMask().GetPaths())
		if proto.Equal(current, next) {
			return nil, nil
		}
		effects, err := of.Effects(info, of.Follow(directory.Workspace, info.Account, id), deed(next, id, "updated"))
		return &store.Change[*orchv1.Workspace]{Message: next, Effects: effects}, err
	})
	if err != nil {
		return nil, tenancy.Missing(tenancy.Taken(err, taken), "Workspace")
	}
	of.Spread(ctx, query.Workspace, id)
	return &emptypb.Empty{}, nil
}

func edit(w *orchv1.Workspace, update *orchv1.WorkspaceUpdate, mask []string) {
	for _, field := range mask {
		switch field {
		case "name":
			if update.Name != nil {
				w.Name = update.GetName()
			}
		case "handle":
			if update.Handle != nil {
				w.Handle = update.GetHandle()
			}
		case "description":
			w.Description = update.Description
		case "default_workspace_role_id":
			w.DefaultWorkspaceRoleId = access.WorkspaceViewer
			if update.DefaultWorkspaceRoleId != nil {
				w.DefaultWorkspaceRoleId = update.GetDefaultWorkspaceRoleId()
			}
		}
	}
}
