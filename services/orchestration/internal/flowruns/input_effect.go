package flowruns

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindInput is the effect that writes the input of a resumption, so the input exists exactly when the run resumes.
const kindInput = "flow_run_input"

// bring returns the effect that stores a value under a key of a run.
func (s *Service) bring(ws uuid.UUID, run, key string, value []byte) (store.Effect, error) {
	of := s.inputs.Store()
	id, now := of.NewID(), of.Now()
	return store.Carry(kindInput, id, now, ws, &orchv1.FlowRunInput{
		Id: id.String(), Created: timestamppb.New(now), Updated: timestamppb.New(now), FlowRunId: run, Key: key, Value: string(value),
	})
}

// WriteInputs executes effects of that kind. An existing key keeps its value.
func (s *Service) WriteInputs(ctx context.Context, effects []store.Effect) error {
	return s.inputs.InsertCarried(ctx, effects, nil)
}

// waitingInputs returns the inputs that are still in the outbox.
func (s *Service) waitingInputs(ctx context.Context, ws, run uuid.UUID) ([]store.Carried[*orchv1.FlowRunInput], error) {
	pending, err := s.runs.Store().Pending(ctx, query.FlowRun, store.DocumentKey{Workspace: ws, ID: run})
	if err != nil {
		return nil, err
	}
	return s.inputs.CarriedBy(pending, kindInput, ws)
}
