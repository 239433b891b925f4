package savedsearches

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateSavedSearch stores a search (201), or replaces the criteria of the search with that name (200).
func (s *Service) CreateSavedSearch(ctx context.Context, r *orchv1.CreateSavedSearchRequest) (*orchv1.SavedSearch, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	// The search may be deleted between the conflicting insert and the update.
	for range 3 {
		search := &orchv1.SavedSearch{
			Id: s.searches.Store().NewID().String(), Name: r.GetSavedSearch().GetName(), Filters: r.GetSavedSearch().GetFilters(),
		}
		err := s.searches.Insert(ctx, info.Workspace, search)
		if err == nil {
			return search, rpc.SetStatus(ctx, http.StatusCreated)
		}
		if !errors.Is(err, store.ErrDuplicate) {
			return nil, err
		}
		search, err = s.replace(ctx, info.Workspace, search)
		if !errors.Is(err, store.ErrNotFound) {
			return search, err
		}
	}
	return nil, fmt.Errorf("create saved search: %w", store.ErrContention)
}

func (s *Service) replace(ctx context.Context, ws uuid.UUID, by *orchv1.SavedSearch) (*orchv1.SavedSearch, error) {
	found, err := s.searches.First(ctx, ws, bson.D{{Key: "name", Value: by.GetName()}})
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(found.GetId())
	if err != nil {
		return nil, err
	}
	return s.searches.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.SavedSearch) error {
		next.Filters = by.GetFilters()
		return nil
	}, nil))
}
