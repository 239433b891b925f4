// Package roles stores the custom workspace roles of accounts, and serves them with the built-in roles (package
// access).
package roles

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// Service serves roles.
type Service struct {
	orchv1.UnimplementedRoleServiceServer
	registry *tenancy.Registry
	roles    tenancy.Resource[*orchv1.WorkspaceRole]
}

// New returns the service.
func New(registry *tenancy.Registry) *Service {
	return &Service{registry: registry, roles: tenancy.Resource[*orchv1.WorkspaceRole]{
		Registry: registry, Documents: registry.Roles, Kind: directory.Role, Noun: "Workspace role",
		Taken: "A workspace role with this name exists in the account already.",
		Audit: func(_ request.Info, role *orchv1.WorkspaceRole) tenancy.AuditEntry {
			return tenancy.AuditEntry{Kind: "workspace-role", Name: role.GetName()}
		},
	}}
}

// DeleteOfAccount deletes the roles of a deleted account.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	return s.roles.DeleteOf(ctx, account, nil)
}

// born is the creation time of the built-in roles, which clients expect of every role.
var born = timestamppb.New(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))

func accountRole(role access.Role) *orchv1.AccountRole {
	return &orchv1.AccountRole{
		Id: role.ID, Created: born, Updated: born, Name: role.Name, Permissions: role.Scopes.Sorted(), IsSystemRole: true,
	}
}

func workspaceRole(role access.Role) *orchv1.WorkspaceRole {
	return &orchv1.WorkspaceRole{
		Id: role.ID, Created: born, Updated: born, Name: role.Name, Description: &role.Description, Scopes: role.Scopes.Sorted(),
	}
}

// matches reports whether a role matches the filter; a null operand matches everything.
func matches(filter *orchv1.RoleFilter, id, name string) bool {
	ids, names := filter.GetId().GetAny_(), filter.GetName().GetAny_()
	return (ids == nil || slices.Contains(ids.GetValues(), id)) && (names == nil || slices.Contains(names.GetValues(), name))
}

// ReadAccountRoles returns the matching account roles, the most powerful first.
func (s *Service) ReadAccountRoles(_ context.Context, r *orchv1.ReadAccountRolesRequest) (*orchv1.AccountRoleList, error) {
	list := &orchv1.AccountRoleList{}
	for _, role := range access.AccountRoles() {
		if matches(r.GetQuery().GetAccountRoles(), role.ID, role.Name) {
			list.Roles = append(list.Roles, accountRole(role))
		}
	}
	return list, nil
}

// ReadAccountRole returns an account role.
func (s *Service) ReadAccountRole(_ context.Context, r *orchv1.ReadAccountRoleRequest) (*orchv1.AccountRole, error) {
	role, ok := access.AccountRole(r.GetId())
	if !ok {
		return nil, rpc.Detail(http.StatusNotFound, "Account role not found")
	}
	return accountRole(role), nil
}

// ReadWorkspaceRoles returns the matching workspace roles: the built-in ones, the most powerful first, then the
// account's by name.
func (s *Service) ReadWorkspaceRoles(ctx context.Context, r *orchv1.ReadWorkspaceRolesRequest) (*orchv1.WorkspaceRoleList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	own, err := s.registry.Roles.Find(ctx, info.Account, store.Query{Sort: bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}, Bytes: store.MaxAnswerBytes})
	if err != nil {
		return nil, err
	}
	list := &orchv1.WorkspaceRoleList{}
	filter := r.GetQuery().GetWorkspaceRoles()
	for _, role := range access.WorkspaceRoles() {
		if matches(filter, role.ID, role.Name) {
			list.Roles = append(list.Roles, workspaceRole(role))
		}
	}
	for _, role := range own {
		if matches(filter, role.GetId(), role.GetName()) {
			list.Roles = append(list.Roles, role)
		}
	}
	return list, nil
}

// ReadWorkspaceRole returns a workspace role.
func (s *Service) ReadWorkspaceRole(ctx context.Context, r *orchv1.ReadWorkspaceRoleRequest) (*orchv1.WorkspaceRole, error) {
	if role, ok := access.WorkspaceRole(r.GetId()); ok {
		return workspaceRole(role), nil
	}
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(r.GetId())
	if err != nil {
		return nil, tenancy.Missing(err, "Workspace role")
	}
	role, err := s.registry.Roles.Get(ctx, info.Account, id)
	return role, tenancy.Missing(err, "Workspace role")
}

// ReadWorkspaceScopes returns every scope that an operation in a workspace requires.
func (s *Service) ReadWorkspaceScopes(context.Context, *emptypb.Empty) (*orchv1.WorkspaceScopeList, error) {
	return &orchv1.WorkspaceScopeList{Scopes: access.Scopes(orchv1.Realm_REALM_UNSPECIFIED).Sorted()}, nil
}

// check rejects an invalid role.
func check(write *orchv1.WorkspaceRoleWrite) error {
	if id := write.InheritedRoleId; id != nil {
		if _, ok := access.WorkspaceRole(*id); !ok {
			return rpc.Invalid(rpc.BodyError("value_error", "Value error, only the server's own roles can be inherited", "inherited_role_id"))
		}
	}
	for _, scope := range write.GetScopes() {
		if scope == "" || strings.Trim(scope, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return rpc.Invalid(rpc.BodyError("value_error", "Value error, a scope consists of lower-case letters and underscores", "scopes"))
		}
	}
	return nil
}
