package workspaces

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
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
	return &emptypb.Empty{}, s.workspaces.Delete(ctx, info, info.Account, id, func(*orchv1.Workspace) ([]store.Effect, error) {
		return s.emptied(info.Account, id), nil
	})
}

// emptied returns the effect that deletes the contents of a workspace.
func (s *Service) emptied(account, id uuid.UUID) []store.Effect {
	return []store.Effect{s.registry.Store.ResourceEffect(KindEmpty, account, id)}
}

// DeleteOfAccount deletes the workspaces of a deleted account.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	return s.workspaces.DeleteOf(ctx, account, func(id uuid.UUID) []store.Effect { return s.emptied(account, id) })
}

// Empty executes effects of KindEmpty.
func (s *Service) Empty(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(_, workspace uuid.UUID) error { return s.empty(ctx, workspace) })
}
