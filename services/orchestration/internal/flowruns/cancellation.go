package flowruns

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// cancellation returns the state by which the server cancels a run; nil for a run that has ended or is being cancelled. A run of a
// deployment has a worker that stops it.
func cancellation(run *orchv1.FlowRun, message string) *orchv1.StateCreate {
	kind := run.GetState().GetType()
	to := orchv1.StateType_STATE_TYPE_CANCELLED
	if run.DeploymentId != nil {
		to = orchv1.StateType_STATE_TYPE_CANCELLING
	}
	if rules.Terminal(kind) || kind == to {
		return nil
	}
	return &orchv1.StateCreate{Type: to, Message: &message}
}

// Cancel cancels a run that has not ended. A run that does not exist is no error.
func (s *Service) Cancel(ctx context.Context, ws, run uuid.UUID, message string) error {
	_, err := s.applyTransition(ctx, ws, run, rules.MinimalFlowPolicy, func(current *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) {
		return cancellation(current, message), nil, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// StateTypes returns the types of the states of runs, without runs that do not exist.
func (s *Service) StateTypes(ctx context.Context, ws uuid.UUID, runs []uuid.UUID) (map[uuid.UUID]orchv1.StateType, error) {
	types := make(map[uuid.UUID]orchv1.StateType, len(runs))
	if len(runs) == 0 {
		return types, nil
	}
	var failures []error
	err := s.runs.Each(ctx, ws, store.Query{
		Filter: bson.D{{Key: "_id", Value: store.OneOf(runs)}}, Sort: bson.D{{Key: "_id", Value: 1}}, Fields: []string{"_id", "state.type"},
	}, func(run *orchv1.FlowRun) bool {
		id, err := uuid.Parse(run.GetId())
		failures = append(failures, err)
		types[id] = run.GetState().GetType()
		return true
	})
	return types, errors.Join(append(failures, err)...)
}
