package workspaceaccess

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// ReadUserAccess returns a user's access.
func (s *Service) ReadUserAccess(ctx context.Context, r *orchv1.ReadUserAccessRequest) (*orchv1.WorkspaceAccess, error) {
	return s.read(ctx, r.GetId(), isUser)
}

// ReadBotAccess returns a service account's access.
func (s *Service) ReadBotAccess(ctx context.Context, r *orchv1.ReadBotAccessRequest) (*orchv1.WorkspaceAccess, error) {
	return s.read(ctx, r.GetId(), isBot)
}

// ReadWorkspaceAccesses returns the access of users, service accounts and teams, the oldest first.
func (s *Service) ReadWorkspaceAccesses(ctx context.Context, r *orchv1.ReadWorkspaceAccessesRequest) (*orchv1.WorkspaceAccessList, error) {
	return s.list(ctx, bson.D{}, r.GetQuery())
}

// ReadTeamAccesses returns the access of teams, the oldest first.
func (s *Service) ReadTeamAccesses(ctx context.Context, r *orchv1.ReadTeamAccessesRequest) (*orchv1.WorkspaceAccessList, error) {
	ofTeams := bson.D{{Key: "team_id", Value: bson.D{{Key: "$exists", Value: true}}}}
	return s.list(ctx, ofTeams, r.GetQuery())
}

func (s *Service) list(ctx context.Context, filter bson.D, q pagination.Query) (*orchv1.WorkspaceAccessList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	found, err := pagination.Find(ctx, s.registry.Access, info.Workspace, filter, bson.D{{Key: "_id", Value: 1}}, q, q)
	for _, a := range found {
		present(info, a)
	}
	return &orchv1.WorkspaceAccessList{Accesses: found}, err
}

func (s *Service) read(ctx context.Context, text string, matches func(*orchv1.WorkspaceAccess) bool) (*orchv1.WorkspaceAccess, error) {
	info, id, err := tenancy.Locate(ctx, text, noun)
	if err != nil {
		return nil, err
	}
	a, err := s.registry.Access.Get(ctx, info.Workspace, id)
	if err == nil && !matches(a) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, tenancy.Missing(err, noun)
	}
	return present(info, a), nil
}
