// Package collectionviews serves the documents that describe what integrations offer.
//
// One document has the types of workers by package, each with the base job template of a new work pool. Clients choose the
// type of a pool from it; the reference's web UI leaves out a type without logo or description. The templates are those of
// the reference's 3.9.1. The descriptions are our own, and the logos are data addresses, which need no other server.
package collectionviews

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

//go:embed workers.json
var workers []byte

// workerMetadata is the name of the view of the types of workers.
const workerMetadata = "aggregate-worker-metadata"

// Service serves views.
type Service struct {
	orchv1.UnimplementedCollectionServiceServer
}

// New returns the service.
func New() *Service { return &Service{} }

// ReadViewContent returns a view by its name. There is one.
func (s *Service) ReadViewContent(_ context.Context, r *orchv1.ReadViewContentRequest) (*orchv1.CollectionView, error) {
	if r.GetView() != workerMetadata {
		return nil, rpc.Detail(http.StatusNotFound, fmt.Sprintf("View %s not found in registry", r.GetView()))
	}
	return &orchv1.CollectionView{Content: workers}, nil
}

// ReadWorkPoolTypes returns the types of workers.
func (s *Service) ReadWorkPoolTypes(context.Context, *orchv1.ReadWorkPoolTypesRequest) (*orchv1.CollectionView, error) {
	return &orchv1.CollectionView{Content: workers}, nil
}
