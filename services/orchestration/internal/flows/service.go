// Package flows manages flows: the programs whose runs are orchestrated.
//
// A flow's name is unique within a workspace. Creating a flow again returns the existing one, so every run of a program
// may start by creating its flow.
package flows

import (
	"context"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves flows.
type Service struct {
	orchv1.UnimplementedFlowServiceServer
	flows  *store.Collection[*orchv1.Flow]
	source pagination.Source[*orchv1.Flow]
	flush  outbox.Flusher
	order  runorder.Settings
	// lifecycle publishes the events of a flow.
	lifecycle crud.Lifecycle[*orchv1.Flow]
}

// New returns the service over a store.
func New(s *store.Store, vocab vocabulary.Vocabulary, flush outbox.Flusher) *Service {
	flows := store.NewCollection(s, query.Flow, &orchv1.Flow{})
	return &Service{
		flows:  flows,
		source: pagination.NewSource(flows, orchv1.FlowSort_FLOW_SORT_NAME_ASC),
		flush:  flush,
		order:  runorder.NewSettings(vocab),
		lifecycle: crud.Lifecycle[*orchv1.Flow]{
			Store: s, Vocabulary: vocab, Kind: "flow", Name: (*orchv1.Flow).GetName,
			Payload: []protoreflect.Name{"name", "tags", "labels"},
		},
	}
}

// notFound is the text of the 404 for an unknown flow.
const notFound crud.NotFound = "Flow not found"

// ReadFlow returns a flow by its id.
func (s *Service) ReadFlow(ctx context.Context, r *orchv1.ReadFlowRequest) (*orchv1.Flow, error) {
	return crud.ByID(ctx, notFound, r.GetId(), s.flows.Get)
}
