package workspaces

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// ReadWorkspaces returns the matching workspaces that the caller may enter, sorted by name.
func (s *Service) ReadWorkspaces(ctx context.Context, r *orchv1.ReadWorkspacesRequest) (*orchv1.WorkspaceList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	mine, err := s.registry.Enterable(ctx, info)
	if err != nil {
		return nil, err
	}
	var within bson.D
	if mine != nil {
		within = bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: mine}}}}
	}
	found, err := tenancy.List(ctx, s.registry.Workspaces, info.Account, q.GetWorkspaces(), within, q)
	return &orchv1.WorkspaceList{Workspaces: found}, err
}
