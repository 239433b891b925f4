package flowruns

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadFlowRunStates returns a run's history, oldest first.
func (s *Service) ReadFlowRunStates(ctx context.Context, r *orchv1.ReadFlowRunStatesRequest) (*orchv1.StateList, error) {
	ws, run, err := resourceid.FromRequest(ctx, r.GetFlowRunId())
	if err != nil {
		return nil, err
	}
	return s.States(ctx, ws, run)
}

// States reads a run's history, oldest first.
func (s *Service) States(ctx context.Context, ws, run uuid.UUID) (*orchv1.StateList, error) {
	return s.history.Of(ctx, ws, run)
}

// ReadFlowRunState returns one state of a run.
func (s *Service) ReadFlowRunState(ctx context.Context, r *orchv1.ReadFlowRunStateRequest) (*orchv1.State, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	state, err := s.history.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, rpc.Detail(http.StatusNotFound, "Flow run state not found")
	}
	return state, err
}
