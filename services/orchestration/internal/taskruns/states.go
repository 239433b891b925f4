package taskruns

import (
	"context"
	"errors"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadTaskRunStates returns a run's history, oldest first.
func (s *Service) ReadTaskRunStates(ctx context.Context, r *orchv1.ReadTaskRunStatesRequest) (*orchv1.StateList, error) {
	ws, run, err := resourceid.FromRequest(ctx, r.GetTaskRunId())
	if err != nil {
		return nil, err
	}
	return s.history.Of(ctx, ws, run)
}

// ReadTaskRunState returns one state of a run.
func (s *Service) ReadTaskRunState(ctx context.Context, r *orchv1.ReadTaskRunStateRequest) (*orchv1.State, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	state, err := s.history.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, rpc.Detail(http.StatusNotFound, "Task run state not found")
	}
	return state, err
}
