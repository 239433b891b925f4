// Package workspaces stores workspaces. Deleting a workspace deletes its contents.
package workspaces

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// Service serves workspaces.
type Service struct {
	orchv1.UnimplementedWorkspaceServiceServer
	registry   *tenancy.Registry
	workspaces tenancy.Resource[*orchv1.Workspace]
	// empty deletes the contents of a deleted workspace.
	empty func(ctx context.Context, workspace uuid.UUID) error
}

// New returns the service.
func New(registry *tenancy.Registry, empty func(ctx context.Context, workspace uuid.UUID) error) *Service {
	return &Service{registry: registry, empty: empty, workspaces: tenancy.Resource[*orchv1.Workspace]{
		Registry: registry, Documents: registry.Workspaces, Kind: directory.Workspace, Noun: "Workspace",
		Taken: "A workspace with this name or handle exists in the account already.",
		Audit: func(_ request.Info, w *orchv1.Workspace) tenancy.AuditEntry {
			return tenancy.AuditEntry{Kind: "workspace", Name: w.GetName()}
		},
	}}
}

// locate returns the account of a call and the id of its workspace. A workspace that the caller may not enter is "not
// found".
func (s *Service) locate(ctx context.Context, id string) (request.Info, uuid.UUID, error) {
	info, parsed, err := tenancy.Locate(ctx, id, "Workspace")
	if err != nil {
		return info, uuid.Nil, err
	}
	scopes, err := s.registry.WorkspaceScopes(ctx, info, parsed)
	if err == nil && len(scopes) == 0 {
		err = store.ErrNotFound
	}
	return info, parsed, tenancy.Missing(err, "Workspace")
}
