// Package flowruns keeps flow runs and lets the rules judge their states.
//
// A run embeds its current state and a revision. A proposal is judged against what is stored and written where the
// revision is still the one that was judged; the history row and the event go through the run's outbox, with the
// state's own id, so that each exists exactly once.
package flowruns

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves flow runs and their states.
type Service struct {
	orchv1.UnimplementedFlowRunServiceServer
	orchv1.UnimplementedFlowRunStateServiceServer
	runs     *store.Collection[*orchv1.FlowRun]
	states   *store.Collection[*orchv1.FlowRunStateRecord]
	flows    *store.Collection[*orchv1.Flow]
	resolver query.Resolver
	words    vocabulary.Vocabulary
	names    flowNames
}

// New returns the service over a store.
func New(s *store.Store, words vocabulary.Vocabulary) *Service {
	return &Service{
		runs:     store.NewCollection(s, query.FlowRun, &orchv1.FlowRun{}),
		states:   store.NewCollection(s, query.FlowRunState, &orchv1.FlowRunStateRecord{}),
		flows:    store.NewCollection(s, query.Flow, &orchv1.Flow{}),
		resolver: query.Resolver{Reader: s.Reader()},
		words:    words,
	}
}

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Flow run not found")
	}
	return err
}

// locate reads the workspace of a call and an id that the contract has checked.
func locate(ctx context.Context, id string) (ws, parsed uuid.UUID, err error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	if parsed, err = uuid.Parse(id); err != nil {
		return uuid.Nil, uuid.Nil, fmt.Errorf("read the id of a flow run: %w", errors.Join(store.ErrNotFound, err))
	}
	return info.Workspace, parsed, nil
}

// ReadFlowRun answers a run.
func (s *Service) ReadFlowRun(ctx context.Context, r *orchv1.ReadFlowRunRequest) (*orchv1.FlowRun, error) {
	ws, id, err := locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	run, err := s.runs.Get(ctx, ws, id)
	if err != nil {
		return nil, translate(err)
	}
	return present(run, s.runs.Store().Now()), nil
}

// flowNames remembers the names of flows, which never change, for the events of their runs.
type flowNames struct {
	mu    sync.Mutex
	names map[uuid.UUID]string
}

// flowNamesKept bounds the memory; beyond it the names are forgotten and read again.
const flowNamesKept = 10_000

func (n *flowNames) get(id uuid.UUID) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, ok := n.names[id]
	return name, ok
}

func (n *flowNames) put(id uuid.UUID, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil || len(n.names) >= flowNamesKept {
		n.names = map[uuid.UUID]string{}
	}
	n.names[id] = name
}

// flowName is the name of a run's flow; empty when the flow is gone.
func (s *Service) flowName(ctx context.Context, ws uuid.UUID, flowID string) (string, error) {
	id, err := uuid.Parse(flowID)
	if err != nil {
		return "", fmt.Errorf("read the id of a flow: %w", err)
	}
	if name, ok := s.names.get(id); ok {
		return name, nil
	}
	flow, err := s.flows.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	s.names.put(id, flow.GetName())
	return flow.GetName(), nil
}
