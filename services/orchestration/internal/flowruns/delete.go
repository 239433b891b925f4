package flowruns

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/artifacts"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/taskruns"
)

const (
	// kindForget is the effect that deletes the history of a deleted run.
	kindForget = "flow_run_forget"
	// kindDeleteOfFlow is the effect that deletes the runs of a deleted flow.
	kindDeleteOfFlow = "flow_runs_delete"
)

// DeleteFlowRun deletes a run and, after it, its task runs, its artifacts and its history.
func (s *Service) DeleteFlowRun(ctx context.Context, r *orchv1.DeleteFlowRunRequest) (*emptypb.Empty, error) {
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
	return s.deleteIf(ctx, ws, id, func(*orchv1.FlowRun) bool { return true })
}

// deleteIf deletes a run that still is as it must be to go; errStays when it is not.
func (s *Service) deleteIf(ctx context.Context, ws, id uuid.UUID, goes func(*orchv1.FlowRun) bool) error {
	of := s.runs.Store()
	return s.runs.Delete(ctx, ws, id, func(current *orchv1.FlowRun) ([]store.Effect, error) {
		if !goes(current) {
			return nil, errStays
		}
		deleted, err := events.Publish(ws, events.Lifecycle{
			ID: of.NewID(), Kind: "flow-run", Verb: "deleted", Of: id, Name: current.GetName(), At: of.Now(),
		}.Event(s.words))
		if err != nil {
			return nil, err
		}
		effects := []store.Effect{deleted, taskruns.DeleteOfFlowRun(of, ws, id), artifacts.DeleteOfFlowRun(of, ws, id), within(of, ws, id, kindForget)}
		return append(effects, s.slots.freedBy(ws, current)...), nil
	})
}

// DeleteOfFlow is the effect that deletes the runs of a flow.
func DeleteOfFlow(of *store.Store, ws, flow uuid.UUID) store.Effect {
	return within(of, ws, flow, kindDeleteOfFlow)
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

// Forget deletes the history and the inputs of deleted runs.
func (s *Service) Forget(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		ws, run, err := named(e)
		if err != nil {
			return err
		}
		ofRun := bson.D{{Key: "flow_run_id", Value: store.Binary(run)}}
		if err := errors.Join(s.states.DeleteMany(ctx, ws, ofRun), s.inputs.DeleteMany(ctx, ws, ofRun)); err != nil {
			return err
		}
	}
	return nil
}

// DeleteRuns deletes the runs of deleted flows.
func (s *Service) DeleteRuns(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		ws, flow, err := named(e)
		if err != nil {
			return err
		}
		if err := s.deleteRunsOf(ctx, ws, flow); err != nil {
			return err
		}
	}
	return nil
}

// deleteBatch is how many runs are read at a time.
const deleteBatch = 200

func (s *Service) deleteRunsOf(ctx context.Context, ws, flow uuid.UUID) error {
	for {
		runs, err := s.runs.Find(ctx, ws, bson.D{{Key: "flow_id", Value: store.Binary(flow)}}, bson.D{{Key: "_id", Value: 1}}, 0, deleteBatch)
		if err != nil || len(runs) == 0 {
			return err
		}
		for _, run := range runs {
			id, err := uuid.Parse(run.GetId())
			if err != nil {
				return fmt.Errorf("read the id of a flow run: %w", err)
			}
			if err := s.delete(ctx, ws, id); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
}

// Handlers are the effects that this package carries out, by kind.
func (s *Service) Handlers() map[string]func(context.Context, []store.Effect) error {
	return map[string]func(context.Context, []store.Effect) error{
		kindHistory:      s.WriteHistory,
		kindInput:        s.WriteInputs,
		kindForget:       s.Forget,
		kindDeleteOfFlow: s.DeleteRuns,
		kindUnstarted:    s.DeleteUnstartedRuns,
	}
}
