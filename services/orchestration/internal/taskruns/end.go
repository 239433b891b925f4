package taskruns

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// endBatch is the number of runs per read.
const endBatch = 200

// EndOf proposes a terminal state to the unfinished task runs of flow runs that ended, because no client will end them. It may run again
// for task runs that arrive later.
func (s *Service) EndOf(ctx context.Context, ws uuid.UUID, flowRuns []uuid.UUID, proposal *orchv1.StateCreate) error {
	ids := make(bson.A, len(flowRuns))
	for i, id := range flowRuns {
		ids[i] = store.Binary(id)
	}
	filter := bson.D{
		{Key: "flow_run_id", Value: bson.D{{Key: "$in", Value: ids}}},
		{Key: "state.type", Value: bson.D{{Key: "$in", Value: runs.States(runs.Active)}}},
	}
	var failures []error
	last := bson.D{}
	for {
		runs, err := s.runs.Find(ctx, ws, store.Query{Filter: append(filter[:len(filter):len(filter)], last...), Sort: bson.D{{Key: "_id", Value: 1}}, Limit: endBatch})
		if err != nil || len(runs) == 0 {
			return errors.Join(append(failures, err)...)
		}
		for _, run := range runs {
			id, err := uuid.Parse(run.GetId())
			if err != nil {
				return fmt.Errorf("read the id of a task run: %w", err)
			}
			last = bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: store.Binary(id)}}}}
			// A failure does not block the others; the next call retries it.
			if err := s.end(ctx, ws, id, proposal); err != nil {
				failures = append(failures, err)
			}
		}
	}
}

func (s *Service) end(ctx context.Context, ws, id uuid.UUID, proposal *orchv1.StateCreate) error {
	_, err := s.transition(ctx, ws, id, proposal, func(current *orchv1.TaskRun) rules.TaskPolicy {
		if rules.Terminal(current.GetState().GetType()) {
			return nil
		}
		return rules.MinimalTaskPolicy
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
