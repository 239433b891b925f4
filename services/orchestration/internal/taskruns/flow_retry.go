package taskruns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindFlowRetry is the effect that schedules a flow run's failed task runs again, for clients that do not retry them.
const kindFlowRetry = "task_run_flow_retry"

// FlowRetry returns the effect of a flow run's retry on its failed task runs.
func FlowRetry(ws uuid.UUID, flowRun string, state *orchv1.State, at time.Time) (store.Effect, error) {
	id, err := uuid.Parse(state.GetId())
	if err != nil {
		return store.Effect{}, fmt.Errorf("read the id of a state: %w", err)
	}
	return store.MessageEffect(kindFlowRetry, uuid.NewSHA1(id, []byte(kindFlowRetry)), at, ws, &orchv1.FlowRetry{FlowRunId: flowRun, State: state})
}

// RetryWithFlow forces the failed task runs of retried flow runs back to waiting and resets their counts. Task runs
// that failed later belong to the new attempt and stay.
func (s *Service) RetryWithFlow(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		retry := &orchv1.FlowRetry{}
		ws, err := e.DecodeMessage(retry)
		if err != nil {
			return err
		}
		flowRun, err := uuid.Parse(retry.GetFlowRunId())
		if err != nil {
			return fmt.Errorf("read the id of a flow run: %w", err)
		}
		if err := s.retryFailed(ctx, ws, flowRun, retry.GetState()); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) retryFailed(ctx context.Context, ws, flowRun uuid.UUID, state *orchv1.State) error {
	last := bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: store.Binary(uuid.Nil)}}}
	for {
		runs, err := s.runs.Find(ctx, ws, store.Query{Filter: bson.D{
			{Key: "flow_run_id", Value: store.Binary(flowRun)}, {Key: "state.type", Value: "FAILED"}, last,
		}, Sort: bson.D{{Key: "_id", Value: 1}}, Limit: endBatch})
		if err != nil || len(runs) == 0 {
			return err
		}
		for _, run := range runs {
			id, err := uuid.Parse(run.GetId())
			if err != nil {
				return fmt.Errorf("read the id of a task run: %w", err)
			}
			last.Value = bson.D{{Key: "$gt", Value: store.Binary(id)}}
			if err := s.retryOne(ctx, ws, id, state); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
}

func (s *Service) retryOne(ctx context.Context, ws, id uuid.UUID, state *orchv1.State) error {
	proposal := &orchv1.StateCreate{
		Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Name: new("AwaitingRetry"),
		StateDetails: rules.NewDetails(state.GetStateDetails().GetScheduledTime()),
	}
	_, err := s.runs.Mutate(ctx, ws, id, func(current *orchv1.TaskRun, revision int64) (*store.Change[*orchv1.TaskRun], error) {
		was := current.GetState()
		if was.GetType() != orchv1.StateType_STATE_TYPE_FAILED || was.GetTimestamp().AsTime().After(state.GetTimestamp().AsTime()) {
			return nil, nil
		}
		now := s.runs.Store().Now()
		facts, err := s.facts(ctx, ws, current, proposal, now)
		if err != nil {
			return nil, err
		}
		t := rules.ProposeTask(current, proposal, facts, now, s.runs.Store().NewID)
		rules.MinimalTaskPolicy.Judge(t)
		t.Run.RunCount = 0
		effects, err := s.effects(ws, t, revision, false)
		if err != nil {
			return nil, err
		}
		return &store.Change[*orchv1.TaskRun]{Message: t.Run, Effects: effects}, nil
	})
	return err
}
