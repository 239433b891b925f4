package taskruns

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// kindForget is the effect that deletes the history of a deleted run.
	kindForget = "task_run_forget"
	// kindDeleteOfFlowRun is the effect that deletes the task runs of a deleted flow run.
	kindDeleteOfFlowRun = "task_runs_delete"
)

// DeleteTaskRun deletes a run and then its history. It releases the run's slots.
func (s *Service) DeleteTaskRun(ctx context.Context, r *orchv1.DeleteTaskRunRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if err := s.delete(ctx, ws, id); err != nil {
		return nil, translate(err)
	}
	s.flush.Flush(ctx, query.TaskRun, ws, id)
	return &emptypb.Empty{}, nil
}

func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) error {
	return s.runs.Delete(ctx, ws, id, func(current *orchv1.TaskRun) ([]store.Effect, error) {
		leases, err := s.heldLeases(ctx, ws, current)
		if err != nil {
			return nil, err
		}
		return append(s.released(ws, leases), s.runs.Store().ResourceEffect(kindForget, ws, id)), nil
	})
}

// DeleteOfFlowRun is the effect that deletes the task runs of a flow run.
func DeleteOfFlowRun(db *store.Store, ws, flowRun uuid.UUID) store.Effect {
	return db.ResourceEffect(kindDeleteOfFlowRun, ws, flowRun)
}

// Forget deletes the history of deleted runs. Their cache entries stay, because later runs may depend on them.
func (s *Service) Forget(ctx context.Context, effects []store.Effect) error {
	return store.EachWorkspace(effects, func(ws uuid.UUID, runs []uuid.UUID) error { return s.history.Forget(ctx, ws, runs...) })
}

// DeleteRuns deletes the runs of deleted flow runs.
func (s *Service) DeleteRuns(ctx context.Context, effects []store.Effect) error {
	return store.EachWorkspace(effects, func(ws uuid.UUID, flowRuns []uuid.UUID) error {
		filter := bson.D{{Key: "flow_run_id", Value: store.OneOf(flowRuns)}}
		for more := true; more; {
			expiry, err := s.purge(ctx, ws, append(filter[:1:1], terminal), purgeBatch)
			if err != nil {
				return err
			}
			more = expiry.More
		}
		return store.Drain(ctx, s.runs, ws, filter, func(id uuid.UUID) error { return s.delete(ctx, ws, id) })
	})
}
