package workspaces

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
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
	edit := func(next *orchv1.Workspace) error {
		if slices.Contains(fieldmask.Apply(next, update, r.GetUpdateMask().GetPaths(), role), role) {
			next.DefaultWorkspaceRoleId = cmp.Or(update.GetDefaultWorkspaceRoleId(), access.WorkspaceViewer)
		}
		return nil
	}
	_, err = reg.Workspaces.Mutate(ctx, info.Account, id, store.Edit(edit, func(_, next *orchv1.Workspace) ([]store.Effect, error) {
		return reg.Effects(info, reg.Follow(directory.Workspace, info.Account, id), auditEntry(next, id, "updated"))
	}))
	if err != nil {
		return nil, tenancy.Missing(tenancy.Taken(err, taken), "Workspace")
	}
	reg.FlushEffects(ctx, query.Workspace, id)
	return &emptypb.Empty{}, nil
}
