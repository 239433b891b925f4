package workspaces

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// KindEmpty is the kind of the effect that deletes the contents of a deleted workspace.
const KindEmpty = "workspace_empty"

// DeleteWorkspace deletes a workspace. Nobody can enter it from now on; effects delete its contents.
func (s *Service) DeleteWorkspace(ctx context.Context, r *orchv1.DeleteWorkspaceRequest) (*emptypb.Empty, error) {
	info, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	if id == request.DefaultWorkspace {
		return nil, rpc.Detail(http.StatusConflict, "The default workspace cannot be deleted: it is what addresses without ids mean.")
	}
	reg := s.registry
	err = reg.Workspaces.Delete(ctx, info.Account, id, func(current *orchv1.Workspace) ([]store.Effect, error) {
		effects, err := reg.Effects(info, reg.Follow(directory.Workspace, info.Account, id), auditEntry(current, id, "deleted"))
		return append(effects, reg.Store.ResourceEffect(KindEmpty, info.Account, id)), err
	})
	if err != nil {
		return nil, tenancy.Missing(err, "Workspace")
	}
	reg.FlushEffects(ctx, query.Workspace, id)
	return &emptypb.Empty{}, nil
}

// DeleteOfAccount deletes the workspaces of a deleted account without audit events; the account's deletion publishes
// one.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	reg := s.registry
	return reg.Workspaces.Drain(ctx, account, nil, func(id uuid.UUID) error {
		err := reg.Workspaces.Delete(ctx, account, id, func(*orchv1.Workspace) ([]store.Effect, error) {
			return []store.Effect{reg.Follow(directory.Workspace, account, id), reg.Store.ResourceEffect(KindEmpty, account, id)}, nil
		})
		if err == nil {
			reg.FlushEffects(ctx, query.Workspace, id)
		}
		return err
	})
}

// Empty executes effects of KindEmpty.
func (s *Service) Empty(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(_, workspace uuid.UUID) error { return s.empty(ctx, workspace) })
}
