package roles

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// CreateWorkspaceRole creates a custom role.
func (s *Service) CreateWorkspaceRole(ctx context.Context, r *orchv1.CreateWorkspaceRoleRequest) (*orchv1.WorkspaceRole, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	write, reg := r.GetRole(), s.registry
	if err := reg.Require(ctx, info.Account, tenancy.CustomRoles); err != nil {
		return nil, err
	}
	if err := check(write); err != nil {
		return nil, err
	}
	id := reg.Store.NewID()
	account := info.Account.String()
	role := &orchv1.WorkspaceRole{Id: id.String(), AccountId: &account}
	fill(role, write)
	return role, s.roles.Insert(ctx, info, info.Account, id, role)
}

func fill(role *orchv1.WorkspaceRole, write *orchv1.WorkspaceRoleWrite) {
	role.Name, role.Description = write.GetName(), write.Description
	role.Scopes, role.InheritedRoleId = write.GetScopes(), write.InheritedRoleId
}

// own returns a custom role; built-in roles cannot be changed.
func (s *Service) own(ctx context.Context, id string) (request.Info, uuid.UUID, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return info, uuid.Nil, err
	}
	if _, ok := access.WorkspaceRole(id); ok {
		return info, uuid.Nil, rpc.Detail(http.StatusForbidden, "The server's own roles cannot be changed.")
	}
	parsed, err := resourceid.Parse(id)
	return info, parsed, tenancy.Missing(err, "Workspace role")
}

// UpdateWorkspaceRole replaces a role with the request.
func (s *Service) UpdateWorkspaceRole(ctx context.Context, r *orchv1.UpdateWorkspaceRoleRequest) (*emptypb.Empty, error) {
	info, id, err := s.own(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	if err := check(r.GetRole()); err != nil {
		return nil, err
	}
	_, err = s.roles.Edit(ctx, info, info.Account, id, "updated", func(next *orchv1.WorkspaceRole) error {
		fill(next, r.GetRole())
		return nil
	})
	return &emptypb.Empty{}, err
}

// DeleteWorkspaceRole deletes a role. Actors with a deleted role have no scopes.
func (s *Service) DeleteWorkspaceRole(ctx context.Context, r *orchv1.DeleteWorkspaceRoleRequest) (*emptypb.Empty, error) {
	info, id, err := s.own(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.roles.Delete(ctx, info, info.Account, id, nil)
}
