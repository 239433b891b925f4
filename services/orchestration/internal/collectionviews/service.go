// Package collectionviews serves the documents that describe what integrations offer.
//
// They list, by package, the types of workers with the base job template of a new work pool, the types of blocks, and flows.
// Clients choose the type of a pool from the first; the reference's web UI leaves out a type without logo or description.
// tools/collections writes them from the packages of the reference. The descriptions are our own, and the logos are data addresses,
// which need no other server.
package collectionviews

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/blocks"
)

//go:embed workers.json
var workers []byte

//go:embed flows.json
var flows []byte

// views returns the content of a view by its name; nil for a view of the reference without content here.
var views = map[string]func() []byte{
	"aggregate-worker-metadata": func() []byte { return workers },
	"aggregate-flow-metadata":   func() []byte { return flows },
	"aggregate-block-metadata":  blocks.SystemView,
	"demo-flows":                func() []byte { return nil },
}

// Service serves views.
type Service struct {
	orchv1.UnimplementedCollectionServiceServer
}

// New returns the service.
func New() *Service { return &Service{} }

// ReadViewContent returns a view by its name.
func (s *Service) ReadViewContent(_ context.Context, r *orchv1.ReadViewContentRequest) (*orchv1.CollectionView, error) {
	view, ok := views[r.GetView()]
	if !ok {
		return nil, rpc.Detail(http.StatusNotFound, fmt.Sprintf("View %s not found in registry", r.GetView()))
	}
	content := view()
	if content == nil {
		return nil, rpc.Detail(http.StatusNotFound, "Requested content missing for view "+r.GetView())
	}
	return &orchv1.CollectionView{Content: content}, nil
}

// ReadWorkPoolTypes returns the types of workers.
func (s *Service) ReadWorkPoolTypes(context.Context, *orchv1.ReadWorkPoolTypesRequest) (*orchv1.CollectionView, error) {
	return &orchv1.CollectionView{Content: workers}, nil
}
