// Package graph builds the graph of a flow run: task runs and subflows are nodes, and used results are edges.
//
//	task run ── inputs name another's id ──► edge from that one
//	   │  └──── inputs named "__parents__" ─► it ran inside of that one
//	   └─ a flow run names it as its parent task run ──► the node is that flow run, with its id
//
// Graphs are not stored: each read builds one from the runs.
package graph

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// States reads the history of a flow run, oldest first.
type States func(ctx context.Context, ws, run uuid.UUID) (*orchv1.StateList, error)

// Service serves graphs.
type Service struct {
	orchv1.UnimplementedFlowRunGraphServiceServer
	runs      *store.Collection[*orchv1.FlowRun]
	tasks     *store.Collection[*orchv1.TaskRun]
	flows     *store.Collection[*orchv1.Flow]
	artifacts *store.Collection[*orchv1.Artifact]
	latest    *store.Collection[*orchv1.ArtifactCollection]
	states    States
	// MaxNodes and maxArtifacts bound a graph. A graph with more nodes is refused; later artifacts are omitted.
	maxNodes, maxArtifacts int64
}

// maximum is the default of both bounds.
const maximum = 10_000

// New returns the service over a store.
func New(s *store.Store, states States) *Service {
	return &Service{
		runs:      store.NewCollection(s, query.FlowRun, &orchv1.FlowRun{}),
		tasks:     store.NewCollection(s, query.TaskRun, &orchv1.TaskRun{}),
		flows:     store.NewCollection(s, query.Flow, &orchv1.Flow{}),
		artifacts: store.NewCollection(s, query.Artifact, &orchv1.Artifact{}),
		latest:    store.NewCollection(s, query.ArtifactLatest, &orchv1.ArtifactCollection{}),
		states:    states,
		maxNodes:  maximum, maxArtifacts: maximum,
	}
}

// run reads the flow run of a requested graph.
func (s *Service) run(ctx context.Context, id string) (ws, parsed uuid.UUID, run *orchv1.FlowRun, err error) {
	if ws, parsed, err = resourceid.FromRequest(ctx, id); err == nil {
		run, err = s.runs.Get(ctx, ws, parsed)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = rpc.ExceptionMessage(http.StatusNotFound, fmt.Sprintf("Flow run with id %s not found", id))
	}
	return ws, parsed, run, err
}
