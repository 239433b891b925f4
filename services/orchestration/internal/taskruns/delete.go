package taskruns

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// kindForget is the effect that deletes the history of a deleted run.
	kindForget = "task_run_forget"
	// kindDeleteOfFlowRun is the effect that deletes the task runs of a deleted flow run.
	kindDeleteOfFlowRun = "task_runs_delete"
)

// DeleteTaskRun deletes a run and, after it, its history.
func (s *Service) DeleteTaskRun(ctx context.Context, r *orchv1.DeleteTaskRunRequest) (*emptypb.Empty, error) {
	ws, id, err := call.Locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if err := s.delete(ctx, ws, id); err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) error {
	return s.runs.Delete(ctx, ws, id, func(*orchv1.TaskRun) ([]store.Effect, error) {
		return []store.Effect{within(s.runs.Store(), ws, id, kindForget)}, nil
	})
}

// DeleteOfFlowRun is the effect that deletes the task runs of a flow run.
func DeleteOfFlowRun(of *store.Store, ws, flowRun uuid.UUID) store.Effect {
	return within(of, ws, flowRun, kindDeleteOfFlowRun)
}

// within is an effect that speaks of one id in a workspace.
func within(of *store.Store, ws, id uuid.UUID, kind string) store.Effect {
	return store.Effect{ID: of.NewID(), At: of.Now(), Kind: kind, Body: append(append([]byte(nil), ws[:]...), id[:]...)}
}

func named(e store.Effect) (ws, id uuid.UUID, err error) {
	if len(e.Body) != 32 {
		return uuid.Nil, uuid.Nil, fmt.Errorf("read an effect: %d bytes are no two ids", len(e.Body))
	}
	return uuid.UUID(e.Body[:16]), uuid.UUID(e.Body[16:]), nil
}

// Forget deletes the history of deleted runs. What they put into the cache stays, as later runs may rely on it.
func (s *Service) Forget(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		ws, run, err := named(e)
		if err != nil {
			return err
		}
		if err := s.states.DeleteMany(ctx, ws, bson.D{{Key: "task_run_id", Value: store.Binary(run)}}); err != nil {
			return err
		}
	}
	return nil
}

// deleteBatch is how many runs are read at a time.
const deleteBatch = 200

// DeleteRuns deletes the runs of deleted flow runs.
func (s *Service) DeleteRuns(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		ws, flowRun, err := named(e)
		if err != nil {
			return err
		}
		if err := s.deleteRunsOf(ctx, ws, flowRun); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) deleteRunsOf(ctx context.Context, ws, flowRun uuid.UUID) error {
	filter := bson.D{{Key: "flow_run_id", Value: store.Binary(flowRun)}}
	for {
		runs, err := s.runs.Find(ctx, ws, filter, bson.D{{Key: "_id", Value: 1}}, 0, deleteBatch)
		if err != nil || len(runs) == 0 {
			return err
		}
		for _, run := range runs {
			id, err := uuid.Parse(run.GetId())
			if err != nil {
				return fmt.Errorf("read the id of a task run: %w", err)
			}
			if err := s.delete(ctx, ws, id); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
}
