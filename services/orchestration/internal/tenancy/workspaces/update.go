package workspaces

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateWorkspace changes the fields that the request contains. Null leaves a required field unchanged.
func (s *Service) UpdateWorkspace(ctx context.Context, r *orchv1.UpdateWorkspaceRequest) (*emptypb.Empty, error) {
	info, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	update, reg := r.GetWorkspace(), s.registry
	if role := update.DefaultWorkspaceRoleId; role != nil {
		if _, err := reg.RoleScopes(ctx, info.Account, *role); errors.Is(err, store.ErrNotFound) {
			return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, no workspace role has this id", "default_workspace_role_id"))
		} else if err != nil {
			return nil, err
		}
	}
	const role = "default_workspace_role_id"
	_, err = s.workspaces.Edit(ctx, info, info.Account, id, "updated", func(next *orchv1.Workspace) error {
		if slices.Contains(fieldmask.Apply(next, update, r.GetUpdateMask().GetPaths(), role), role) {
			next.DefaultWorkspaceRoleId = cmp.Or(update.GetDefaultWorkspaceRoleId(), access.WorkspaceViewer)
		}
		return nil
	})
	return &emptypb.Empty{}, err
}
