package taskruns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindSubflow is the effect that copies a flow run's state to its parent task run.
const kindSubflow = "task_run_subflow_state"

// SubflowState returns the effect of a flow run's state on its parent task run.
func SubflowState(ws uuid.UUID, run *orchv1.FlowRun, state *orchv1.State, at time.Time) (store.Effect, error) {
	id, err := uuid.Parse(state.GetId())
	if err != nil {
		return store.Effect{}, fmt.Errorf("read the id of a state: %w", err)
	}
	return store.MessageEffect(kindSubflow, uuid.NewSHA1(id, []byte(kindSubflow)), at, ws, &orchv1.SubflowState{
		TaskRunId: run.GetParentTaskRunId(), FlowRunId: run.GetId(), State: state,
	})
}

// FollowSubflow forces copies of flow runs' states onto their parent task runs. A copy's id derives from the state's
// id, which makes the effect idempotent. Deleted task runs are skipped.
func (s *Service) FollowSubflow(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		state := &orchv1.SubflowState{}
		ws, err := e.DecodeMessage(state)
		if err != nil {
			return err
		}
		if err := s.follow(ctx, ws, state); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (s *Service) follow(ctx context.Context, ws uuid.UUID, state *orchv1.SubflowState) error {
	id, err := uuid.Parse(state.GetTaskRunId())
	if err != nil {
		return fmt.Errorf("read the id of a task run: %w", err)
	}
	original, err := uuid.Parse(state.GetState().GetId())
	if err != nil {
		return fmt.Errorf("read the id of a state: %w", err)
	}
	copied := uuid.NewSHA1(id, original[:])
	proposal := &orchv1.StateCreate{
		Type: state.GetState().GetType(), Name: state.GetState().Name, Message: state.GetState().Message, Data: state.GetState().Data,
		StateDetails: &orchv1.StateDetails{},
	}
	proto.Merge(proposal.StateDetails, state.GetState().GetStateDetails())
	proposal.StateDetails.ChildFlowRunId = new(state.GetFlowRunId())
	_, err = s.runs.Mutate(ctx, ws, id, func(current *orchv1.TaskRun, revision int64) (*store.Change[*orchv1.TaskRun], error) {
		if applied, err := s.isRecorded(ctx, ws, id, current, copied); applied || err != nil {
			return nil, err
		}
		now := s.runs.Store().Now()
		facts, err := s.facts(ctx, ws, current, proposal, now)
		if err != nil {
			return nil, err
		}
		t := rules.ProposeTask(current, proposal, facts, now, s.runs.Store().NewID)
		t.Proposed.Id = copied.String()
		t.Proposed.Timestamp = state.GetState().GetTimestamp()
		rules.MinimalTaskPolicy.Judge(t)
		effects, err := s.effects(ws, t, revision, true)
		if err != nil {
			return nil, err
		}
		return &store.Change[*orchv1.TaskRun]{Message: t.Run, Effects: effects}, nil
	})
	return err
}

// isRecorded reports whether a run has or had a state.
func (s *Service) isRecorded(ctx context.Context, ws, id uuid.UUID, run *orchv1.TaskRun, state uuid.UUID) (bool, error) {
	if run.GetState().GetId() == state.String() {
		return true, nil
	}
	_, err := s.history.OfRun(ctx, ws, id, state)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
