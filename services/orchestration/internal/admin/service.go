// Package admin keeps what administrators set for everybody: defaults that hold where nothing else is set.
package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves the defaults.
type Service struct {
	orchv1.UnimplementedAdminServiceServer
	storage *store.Collection[*orchv1.ServerDefaultResultStorage]
	block   Capabilities
}

// Capabilities are what a block can do. The error matches store.ErrNotFound when there is none of that id.
type Capabilities func(ctx context.Context, ws, id uuid.UUID) ([]string, error)

// New returns the service over a store.
func New(s *store.Store, block Capabilities) *Service {
	return &Service{storage: store.NewCollection(s, query.Configuration, &orchv1.ServerDefaultResultStorage{}), block: block}
}

// keepsResults is what a block must be able to do so that results can be kept in it.
const keepsResults = "write-path"

// storageID is the id of a workspace's one document that says where results are kept. It is derived, so that two
// writers cannot make two.
func storageID(ws uuid.UUID) uuid.UUID { return uuid.NewSHA1(ws, []byte("default_result_storage")) }

// ReadServerDefaultResultStorage returns where results are kept by default.
func (s *Service) ReadServerDefaultResultStorage(ctx context.Context, _ *emptypb.Empty) (*orchv1.ServerDefaultResultStorage, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	storage, err := s.storage.Get(ctx, info.Workspace, storageID(info.Workspace))
	if errors.Is(err, store.ErrNotFound) || err == nil && storage.DefaultResultStorageBlockId == nil {
		return &orchv1.ServerDefaultResultStorage{}, nil
	}
	if err != nil {
		return nil, err
	}
	// A block that was deleted since keeps nothing. Its id is never given again.
	id, err := resourceid.Parse(storage.GetDefaultResultStorageBlockId())
	if err != nil {
		return nil, err
	}
	if _, err := s.block(ctx, info.Workspace, id); errors.Is(err, store.ErrNotFound) {
		return &orchv1.ServerDefaultResultStorage{}, nil
	} else if err != nil {
		return nil, err
	}
	return storage, nil
}

// UpdateServerDefaultResultStorage sets where results are kept by default: a block that can keep them.
func (s *Service) UpdateServerDefaultResultStorage(
	ctx context.Context, r *orchv1.UpdateServerDefaultResultStorageRequest,
) (*orchv1.ServerDefaultResultStorage, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetStorage().GetDefaultResultStorageBlockId())
	if err != nil {
		return nil, err
	}
	capabilities, err := s.block(ctx, ws, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, rpc.Detail(http.StatusNotFound, fmt.Sprintf("Block document %s not found.", id))
	case err != nil:
		return nil, err
	case !slices.Contains(capabilities, keepsResults):
		return nil, rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf("Block document %s cannot be used for result storage.", id))
	}
	return s.set(ctx, proto.String(id.String()))
}

// ClearServerDefaultResultStorage leaves it to each client again where results are kept.
func (s *Service) ClearServerDefaultResultStorage(ctx context.Context, _ *emptypb.Empty) (*emptypb.Empty, error) {
	if _, err := s.set(ctx, nil); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// set changes the one document, or makes it. It is never deleted, as its id is given once.
func (s *Service) set(ctx context.Context, block *string) (*orchv1.ServerDefaultResultStorage, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	id := storageID(info.Workspace)
	next := &orchv1.ServerDefaultResultStorage{Id: id.String(), DefaultResultStorageBlockId: block}
	for range 2 { // Another call may make it between the look and the insert.
		storage, err := s.storage.Mutate(ctx, info.Workspace, id,
			func(current *orchv1.ServerDefaultResultStorage, _ int64) (*store.Change[*orchv1.ServerDefaultResultStorage], error) {
				if proto.Equal(current, next) {
					return nil, nil
				}
				return &store.Change[*orchv1.ServerDefaultResultStorage]{Message: next}, nil
			})
		if !errors.Is(err, store.ErrNotFound) {
			return storage, err
		}
		err = s.storage.Insert(ctx, info.Workspace, next)
		if !errors.Is(err, store.ErrDuplicate) {
			return next, err
		}
	}
	return nil, fmt.Errorf("set where results are kept: %w", store.ErrContention)
}
