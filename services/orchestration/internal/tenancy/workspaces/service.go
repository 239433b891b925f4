// Package workspaces keeps workspaces. Deleting one deletes everything in it.
package workspaces

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/page"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

const taken = "A workspace with this name or handle exists in the account already."

// Service serves workspaces.
type Service struct {
	orchv1.UnimplementedWorkspaceServiceServer
	registry *tenancy.Registry
	// empty deletes what a deleted workspace held.
	empty func(ctx context.Context, workspace uuid.UUID) error
}

// New returns the service.
func New(registry *tenancy.Registry, empty func(ctx context.Context, workspace uuid.UUID) error) *Service {
	return &Service{registry: registry, empty: empty}
}

// locate reads the account of a call and the id of the workspace that it is about, which the caller must be allowed to
// enter: others are not there for them.
func (s *Service) locate(ctx context.Context, id string) (request.Info, uuid.UUID, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return info, uuid.Nil, err
	}
	parsed, err := call.ParseID(id)
	if err != nil {
		return info, uuid.Nil, tenancy.Missing(err, "Workspace")
	}
	scopes, err := s.registry.WorkspaceScopes(ctx, info, parsed)
	if err == nil && len(scopes) == 0 {
		err = store.ErrNotFound
	}
	return info, parsed, tenancy.Missing(err, "Workspace")
}

// ReadWorkspace answers a workspace.
func (s *Service) ReadWorkspace(ctx context.Context, r *orchv1.ReadWorkspaceRequest) (*orchv1.Workspace, error) {
	info, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	w, err := s.registry.Workspaces.Get(ctx, info.Account, id)
	return w, tenancy.Missing(err, "Workspace")
}

// ReadWorkspaces answers the matching workspaces that the caller may enter, by name.
func (s *Service) ReadWorkspaces(ctx context.Context, r *orchv1.ReadWorkspacesRequest) (*orchv1.WorkspaceList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	limit, err := page.Limit(q.GetLimit())
	if err != nil {
		return nil, err
	}
	criteria, err := query.Compile(q.GetWorkspaces())
	if err != nil {
		return nil, err
	}
	filter, err := criteria.BSON()
	if err != nil {
		return nil, err
	}
	mine, err := s.registry.Enterable(ctx, info)
	if err != nil {
		return nil, err
	}
	if mine != nil {
		filter = bson.D{{Key: "$and", Value: bson.A{filter, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: mine}}}}}}}
	}
	found, err := s.registry.Workspaces.Find(ctx, info.Account, filter, bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}, q.GetOffset(), limit)
	return &orchv1.WorkspaceList{Workspaces: found}, err
}

// CreateWorkspace makes a workspace.
func (s *Service) CreateWorkspace(ctx context.Context, r *orchv1.CreateWorkspaceRequest) (*orchv1.Workspace, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.registry.Accounts.Get(ctx, tenancy.Server, info.Account); err != nil {
		return nil, tenancy.Missing(err, "Account")
	}
	create, of := r.GetWorkspace(), s.registry
	id := of.Store.NewID()
	w := &orchv1.Workspace{
		Id: id.String(), AccountId: info.Account.String(), Name: create.GetName(), Description: create.Description,
		Handle: create.GetHandle(), DefaultWorkspaceRoleId: access.WorkspaceViewer,
	}
	if create.Handle == nil {
		w.Handle = tenancy.Handle(create.GetName())
	}
	effects, err := of.Effects(info, of.Follow(directory.Workspace, info.Account, id), deed(w, id, "created"))
	if err != nil {
		return nil, err
	}
	if err := of.Workspaces.Insert(ctx, info.Account, w, effects...); err != nil {
		return nil, tenancy.Taken(err, taken)
	}
	of.Spread(ctx, query.Workspace, id)
	return w, nil
}

func deed(w *orchv1.Workspace, id uuid.UUID, action string) tenancy.Deed {
	return tenancy.Deed{Kind: "workspace", Action: action, Of: id, Name: w.GetName()}
}

// UpdateWorkspace changes what was sent. What cannot be absent is left by null.
func (s *Service) UpdateWorkspace(ctx context.Context, r *orchv1.UpdateWorkspaceRequest) (*emptypb.Empty, error) {
	info, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	update, of := r.GetWorkspace(), s.registry
	if role := update.DefaultWorkspaceRoleId; role != nil {
		if _, err := of.RoleScopes(ctx, info.Account, *role); errors.Is(err, store.ErrNotFound) {
			return nil, rpc.Invalid(rpc.BodyFault("value_error", "Value error, no workspace role has this id", "default_workspace_role_id"))
		} else if err != nil {
			return nil, err
		}
	}
	_, err = of.Workspaces.Mutate(ctx, info.Account, id, func(current *orchv1.Workspace, _ int64) (*store.Change[*orchv1.Workspace], error) {
		next := proto.Clone(current).(*orchv1.Workspace)
		edit(next, update, r.GetUpdateMask().GetPaths())
		if proto.Equal(current, next) {
			return nil, nil
		}
		effects, err := of.Effects(info, of.Follow(directory.Workspace, info.Account, id), deed(next, id, "updated"))
		return &store.Change[*orchv1.Workspace]{Message: next, Effects: effects}, err
	})
	if err != nil {
		return nil, tenancy.Missing(tenancy.Taken(err, taken), "Workspace")
	}
	of.Spread(ctx, query.Workspace, id)
	return &emptypb.Empty{}, nil
}

func edit(w *orchv1.Workspace, update *orchv1.WorkspaceUpdate, mask []string) {
	for _, field := range mask {
		switch field {
		case "name":
			if update.Name != nil {
				w.Name = update.GetName()
			}
		case "handle":
			if update.Handle != nil {
				w.Handle = update.GetHandle()
			}
		case "description":
			w.Description = update.Description
		case "default_workspace_role_id":
			w.DefaultWorkspaceRoleId = access.WorkspaceViewer
			if update.DefaultWorkspaceRoleId != nil {
				w.DefaultWorkspaceRoleId = update.GetDefaultWorkspaceRoleId()
			}
		}
	}
}

// KindEmpty is the effect that deletes what a deleted workspace held.
const KindEmpty = "workspace_empty"

// DeleteWorkspace deletes a workspace; nobody can enter it from now on, and what it held follows.
func (s *Service) DeleteWorkspace(ctx context.Context, r *orchv1.DeleteWorkspaceRequest) (*emptypb.Empty, error) {
	info, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	if id == request.DefaultWorkspace {
		return nil, rpc.Detail(http.StatusConflict, "The default workspace cannot be deleted: it is what addresses without ids mean.")
	}
	of := s.registry
	err = of.Workspaces.Delete(ctx, info.Account, id, func(current *orchv1.Workspace) ([]store.Effect, error) {
		effects, err := of.Effects(info, of.Follow(directory.Workspace, info.Account, id), deed(current, id, "deleted"))
		return append(effects, of.Store.About(KindEmpty, info.Account, id)), err
	})
	if err != nil {
		return nil, tenancy.Missing(err, "Workspace")
	}
	of.Spread(ctx, query.Workspace, id)
	return &emptypb.Empty{}, nil
}

// Empty carries out effects of KindEmpty.
func (s *Service) Empty(ctx context.Context, effects []store.Effect) error {
	return store.EachSubject(effects, func(_, workspace uuid.UUID) error { return s.empty(ctx, workspace) })
}
