package taskruns

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// errEnded means that a run that was to be cancelled has ended meanwhile.
var errEnded = errors.New("the task run has ended")

// CancelOf cancels the unfinished task runs of flow runs that were cancelled. Doing it twice is the same as once.
func (s *Service) CancelOf(ctx context.Context, ws uuid.UUID, flowRuns []uuid.UUID) error {
	ids := make(bson.A, len(flowRuns))
	for i, id := range flowRuns {
		ids[i] = store.Binary(id)
	}
	var unfinished []string
	err := s.runs.Each(ctx, ws, bson.D{{Key: "flow_run_id", Value: bson.D{{Key: "$in", Value: ids}}}}, bson.D{{Key: "_id", Value: 1}}, func(run *orchv1.TaskRun) bool {
		if !rules.Terminal(run.GetState().GetType()) {
			unfinished = append(unfinished, run.GetId())
		}
		return true
	})
	if err != nil {
		return err
	}
	var failures []error
	for _, one := range unfinished {
		id, err := uuid.Parse(one)
		if err != nil {
			return fmt.Errorf("read the id of a task run: %w", err)
		}
		if err := s.cancel(ctx, ws, id); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

func (s *Service) cancel(ctx context.Context, ws, id uuid.UUID) error {
	of := s.runs.Store()
	_, err := s.runs.Mutate(ctx, ws, id, func(current *orchv1.TaskRun, revision int64) (*store.Change[*orchv1.TaskRun], error) {
		if rules.Terminal(current.GetState().GetType()) {
			return nil, errEnded
		}
		t := rules.ProposeTask(current, &orchv1.StateCreate{
			Type: orchv1.StateType_STATE_TYPE_CANCELLED, Message: new("The parent flow run was cancelled."),
		}, rules.TaskFacts{Random: s.random}, of.Now(), of.NewID)
		rules.MinimalTaskPolicy.Judge(t)
		if !t.Written() {
			return nil, nil
		}
		effects, err := s.effects(ws, t, revision)
		if err != nil {
			return nil, err
		}
		return &store.Change[*orchv1.TaskRun]{Message: t.Run, Effects: effects}, nil
	})
	if errors.Is(err, errEnded) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
