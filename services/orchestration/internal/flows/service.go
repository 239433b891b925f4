// Package flows manages flows: the programs whose runs are orchestrated.
//
// A flow's name is unique within a workspace. Creating a flow again returns the existing one, so every run of a program
// may start by creating its flow.
package flows

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves flows.
type Service struct {
	orchv1.UnimplementedFlowServiceServer
	flows  *store.Collection[*orchv1.Flow]
	source pagination.Source[*orchv1.Flow]
	vocab  vocabulary.Vocabulary
	flush  outbox.Flusher
}

// New returns the service over a store.
func New(s *store.Store, vocab vocabulary.Vocabulary, flush outbox.Flusher) *Service {
	flows := store.NewCollection(s, query.Flow, &orchv1.Flow{})
	return &Service{
		flows:  flows,
		source: pagination.NewSource(flows, orchv1.FlowSort_FLOW_SORT_NAME_ASC),
		vocab:  vocab,
		flush:  flush,
	}
}

// errNotFound is the API's response for an unknown flow.
func errNotFound() error { return rpc.Detail(http.StatusNotFound, "Flow not found") }

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return errNotFound()
	}
	return err
}

// ReadFlow returns a flow by its id.
func (s *Service) ReadFlow(ctx context.Context, r *orchv1.ReadFlowRequest) (*orchv1.Flow, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	flow, err := s.flows.Get(ctx, ws, id)
	return flow, translate(err)
}

// lifecycle returns the event of a change of a flow; before is the previous flow, nil if there was none or it is
// unchanged.
func (s *Service) lifecycle(ws uuid.UUID, flow, before *orchv1.Flow, verb string) (store.Effect, error) {
	id, err := uuid.Parse(flow.GetId())
	if err != nil {
		return store.Effect{}, fmt.Errorf("read the id of a flow: %w", err)
	}
	payload, err := events.Payload(flow, before, "name", "tags", "labels")
	if err != nil {
		return store.Effect{}, err
	}
	of := s.flows.Store()
	return events.Publish(ws, events.Lifecycle{
		ID: of.NewID(), Kind: "flow", Verb: verb, Of: id, Name: flow.GetName(), At: of.Now(), Payload: payload,
	}.Event(s.vocab))
}
