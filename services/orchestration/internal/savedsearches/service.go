// Package savedsearches keeps saved searches: criteria that a user interface keeps under a name.
//
// What the criteria mean is the business of those who save them; here they are kept and given back.
package savedsearches

import (
	"context"
	"errors"
	"net/http"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
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

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Saved search not found")
	}
	return err
}

// ReadSavedSearch returns a search by its id.
func (s *Service) ReadSavedSearch(ctx context.Context, r *orchv1.ReadSavedSearchRequest) (*orchv1.SavedSearch, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	search, err := s.searches.Get(ctx, ws, id)
	return search, translate(err)
}

// byNameAscending is the order of lists.
var byNameAscending = bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}

// ReadSavedSearches returns a page of all searches.
func (s *Service) ReadSavedSearches(ctx context.Context, r *orchv1.ReadSavedSearchesRequest) (*orchv1.SavedSearchList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	limit, err := pagination.Limit(r.GetQuery().GetLimit())
	if err != nil {
		return nil, err
	}
	searches, err := s.searches.Find(ctx, info.Workspace, nil, byNameAscending, r.GetQuery().GetOffset(), limit)
	return &orchv1.SavedSearchList{SavedSearches: searches}, err
}

// DeleteSavedSearch deletes a search.
func (s *Service) DeleteSavedSearch(ctx context.Context, r *orchv1.DeleteSavedSearchRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	err = s.searches.Delete(ctx, ws, id, func(*orchv1.SavedSearch) ([]store.Effect, error) { return nil, nil })
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}
