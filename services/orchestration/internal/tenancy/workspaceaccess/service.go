// Package workspaceaccess stores the roles of users, service accounts and teams in workspaces: one role per actor and
// workspace. A team is an actor with its own id.
package workspaceaccess

import (
	"context"
	"errors"

	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

const noun = "Workspace access"

// Service serves access.
type Service struct {
	orchv1.UnimplementedWorkspaceAccessServiceServer
	registry *tenancy.Registry
	access   tenancy.Resource[*orchv1.WorkspaceAccess]
}

// New returns the service.
func New(registry *tenancy.Registry) *Service {
	return &Service{registry: registry, access: tenancy.Resource[*orchv1.WorkspaceAccess]{
		Registry: registry, Documents: registry.Access, Kind: directory.Access, Noun: noun,
		Audit: func(info request.Info, a *orchv1.WorkspaceAccess) tenancy.AuditEntry {
			return tenancy.AuditEntry{Kind: "workspace-access", Name: a.GetActorId(), Workspace: info.Workspace}
		},
	}}
}

// mayTake rejects the revocation of a role that allows more than the caller's own. Everybody may revoke a deleted role.
func (s *Service) mayTake(ctx context.Context, info request.Info, a *orchv1.WorkspaceAccess) error {
	_, err := s.registry.RoleScopes(ctx, info.Account, a.GetWorkspaceRoleId())
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.registry.CheckWorkspaceRole(ctx, info, a.GetWorkspaceRoleId())
}

// present sets the workspace.
func present(info request.Info, a *orchv1.WorkspaceAccess) *orchv1.WorkspaceAccess {
	a.WorkspaceId = info.Workspace.String()
	return a
}

func isUser(a *orchv1.WorkspaceAccess) bool { return a.UserId != nil }
func isTeam(a *orchv1.WorkspaceAccess) bool { return a.TeamId != nil }
func isBot(a *orchv1.WorkspaceAccess) bool  { return a.BotId != nil }
