// Package admin manages workspace-wide defaults.
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

// Capabilities returns the capabilities of a block. The error matches store.ErrNotFound for an unknown id.
type Capabilities func(ctx context.Context, ws, id uuid.UUID) ([]string, error)

// New returns the service over a store.
func New(s *store.Store, block Capabilities) *Service {
	return &Service{storage: store.NewCollection(s, query.Configuration, &orchv1.ServerDefaultResultStorage{}), block: block}
}

// keepsResults is the capability that a block needs to store results.
const keepsResults = "write-path"

// Imported gives the default result storage of another server the id of its document.
func Imported(ws uuid.UUID, storage *orchv1.ServerDefaultResultStorage) {
	storage.Id = storageID(ws).String()
}

// storageID derives the id of a workspace's default result storage document, so concurrent writers cannot create two.
func storageID(ws uuid.UUID) uuid.UUID { return uuid.NewSHA1(ws, []byte("default_result_storage")) }

// ReadServerDefaultResultStorage returns the default result storage.
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
	// The block may have been deleted since. Its id is never reused.
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

// UpdateServerDefaultResultStorage sets the default result storage to a block that can store results.
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

// ClearServerDefaultResultStorage removes the default, so each client chooses.
func (s *Service) ClearServerDefaultResultStorage(ctx context.Context, _ *emptypb.Empty) (*emptypb.Empty, error) {
	if _, err := s.set(ctx, nil); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// set changes or creates the one document. It is never deleted, because its id is derived.
func (s *Service) set(ctx context.Context, block *string) (*orchv1.ServerDefaultResultStorage, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	id := storageID(info.Workspace)
	next := &orchv1.ServerDefaultResultStorage{Id: id.String(), DefaultResultStorageBlockId: block}
	for range 2 { // A concurrent call may create it between the read and the insert.
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
	return nil, fmt.Errorf("set default result storage: %w", store.ErrContention)
}
