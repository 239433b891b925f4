package flowruns

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

// kindLost is the effect that ends the unfinished task runs and subflows of a lost run.
const kindLost = "flow_run_lost"

// messageParentLost is the state message of what a lost run executed.
const messageParentLost = "The flow run that executed this run was lost."

// lostChildren returns the effect for a run that is lost in its state.
func lostChildren(ws uuid.UUID, run *orchv1.FlowRun) (store.Effect, error) {
	state, err := uuid.Parse(run.GetState().GetId())
	if err != nil {
		return store.Effect{}, fmt.Errorf("read the id of a state: %w", err)
	}
	return store.MessageEffect(kindLost, uuid.NewSHA1(state, []byte(kindLost)), run.GetState().GetTimestamp().AsTime(), ws,
		&orchv1.FlowRunStateRecord{Id: run.GetState().GetId(), FlowRunId: run.GetId(), Timestamp: run.GetState().GetTimestamp(), State: run.GetState()})
}

// EndChildren executes effects that end the children of lost runs. A run that executes again meanwhile keeps its children.
func (s *Service) EndChildren(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		lost := &orchv1.FlowRunStateRecord{}
		ws, err := e.DecodeMessage(lost)
		if err != nil {
			return err
		}
		id, err := uuid.Parse(lost.GetFlowRunId())
		if err != nil {
			return store.Permanent(fmt.Errorf("read the id of a flow run: %w", err))
		}
		run, err := s.runs.Get(ctx, ws, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if executing(run) {
			continue
		}
		if err := s.endChildren(ctx, ws, id); err != nil {
			return err
		}
	}
	return nil
}

// executing reports whether a process executes a run, or may.
func executing(run *orchv1.FlowRun) bool {
	kind := run.GetState().GetType()
	return kind == orchv1.StateType_STATE_TYPE_RUNNING || kind == orchv1.StateType_STATE_TYPE_PAUSED
}

// endChildren crashes the unfinished task runs of a run, and the subflows that they represent. A subflow of a deployment has a process of
// its own, which goes on.
func (s *Service) endChildren(ctx context.Context, ws, run uuid.UUID) error {
	var failures []error
	after := bson.D{}
	for {
		tasks, err := s.tasks.Find(ctx, ws, store.Query{Filter: append(bson.D{
			{Key: "flow_run_id", Value: store.Binary(run)},
			{Key: "state.type", Value: bson.D{{Key: "$in", Value: runs.States(runs.Active)}}},
		}, after...), Sort: bson.D{{Key: "_id", Value: 1}}, Limit: sweepBatch})
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		if len(tasks) == 0 {
			break
		}
		ids := make(bson.A, 0, len(tasks))
		for _, task := range tasks {
			id, err := uuid.Parse(task.GetId())
			if err != nil {
				return fmt.Errorf("read the id of a task run: %w", err)
			}
			ids = append(ids, store.Binary(id))
			after = bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: store.Binary(id)}}}}
		}
		failures = append(failures, s.endSubflows(ctx, ws, ids))
	}
	return errors.Join(append(failures, s.endTaskRuns(ctx, ws, []uuid.UUID{run}, &orchv1.StateCreate{
		Type: orchv1.StateType_STATE_TYPE_CRASHED, Message: new(messageParentLost),
	}))...)
}

// endSubflows crashes the unfinished subflows of task runs that run in the process of their parent.
func (s *Service) endSubflows(ctx context.Context, ws uuid.UUID, tasks bson.A) error {
	subflows, err := store.FindVersions(ctx, s.runs, ws, bson.D{{Key: "parent_task_run_id", Value: bson.D{{Key: "$in", Value: tasks}}}})
	if err != nil {
		return err
	}
	var unfinished []store.Owned[*orchv1.FlowRun]
	for _, subflow := range subflows {
		if subflow.Message.DeploymentId == nil && !rules.Terminal(subflow.Message.GetState().GetType()) {
			unfinished = append(unfinished, store.Owned[*orchv1.FlowRun]{
				Workspace: ws, Message: subflow.Message, Revision: subflow.Revision, Token: subflow.Token,
			})
		}
	}
	_, err = s.suggestAll(ctx, unfinished, rules.MinimalFlowPolicy, s.crashSubflow(ws))
	return err
}

// crashSubflow crashes an unfinished subflow, whose own task runs and subflows follow.
func (s *Service) crashSubflow(ws uuid.UUID) sweptProposal {
	return func(uuid.UUID) proposal {
		return func(current *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) {
			if rules.Terminal(current.GetState().GetType()) {
				return nil, nil, nil
			}
			children, err := lostChildren(ws, current)
			return &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_CRASHED, Message: new(messageParentLost)}, []store.Effect{children}, err
		}
	}
}
