// Package savedsearches manages saved searches: criteria that a user interface stores under a name.
//
// The server stores the criteria as sent and does not interpret them.
package savedsearches

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves saved searches.
type Service struct {
	orchv1.UnimplementedSavedSearchServiceServer
	searches *store.Collection[*orchv1.SavedSearch]
}

// New returns the service over a store.
func New(s *store.Store) *Service {
	return &Service{searches: store.NewCollection(s, query.SavedSearch, &orchv1.SavedSearch{})}
}

// notFound is the text of the 404 for an unknown search.
const notFound crud.NotFound = "Saved search not found"

// ReadSavedSearch returns a search by its id.
func (s *Service) ReadSavedSearch(ctx context.Context, r *orchv1.ReadSavedSearchRequest) (*orchv1.SavedSearch, error) {
	return crud.ByID(ctx, notFound, r.GetId(), s.searches.Get)
}

// byNameAscending is the order of lists.
var byNameAscending = bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}

// ReadSavedSearches returns a page of all searches.
func (s *Service) ReadSavedSearches(ctx context.Context, r *orchv1.ReadSavedSearchesRequest) (*orchv1.SavedSearchList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	searches, err := pagination.Find(ctx, s.searches, info.Workspace, nil, byNameAscending, r.GetQuery(), r)
	return &orchv1.SavedSearchList{SavedSearches: searches}, err
}

// DeleteSavedSearch deletes a search.
func (s *Service) DeleteSavedSearch(ctx context.Context, r *orchv1.DeleteSavedSearchRequest) (*emptypb.Empty, error) {
	return crud.Delete(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) error {
		return s.searches.Delete(ctx, ws, id, func(*orchv1.SavedSearch) ([]store.Effect, error) { return nil, nil })
	})
}
