package flowruns

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// kindInput is the effect that writes the input of a resumption, so the input exists exactly when the run resumes.
	kindInput = "flow_run_input"
	// kindInputDelete is the effect that deletes an input of an earlier pause, so it is gone exactly when the run pauses again.
	kindInputDelete = "flow_run_input_delete"
)

// bring returns the effect that stores a value under a key of a run.
func (s *Service) bring(ws uuid.UUID, run, key string, value []byte) (store.Effect, error) {
	db := s.inputs.Store()
	id, now := db.NewID(), db.Now()
	return store.MessageEffect(kindInput, id, now, ws, &orchv1.FlowRunInput{
		Id: id.String(), Created: timestamppb.New(now), Updated: timestamppb.New(now), FlowRunId: run, Key: key, Value: string(value),
	})
}

// WriteInputs executes effects of that kind. An existing key keeps its value.
func (s *Service) WriteInputs(ctx context.Context, effects []store.Effect) error {
	return store.InsertMessages(ctx, s.inputs, effects, nil)
}

// deleteInputs returns the effects that delete the present inputs of some keys. They name the inputs by id, because a client
// may store the next ones before the relay executes the effects.
func (s *Service) deleteInputs(ctx context.Context, ws, run uuid.UUID, keys []string) ([]store.Effect, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	waiting, err := s.waitingInputs(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	present, err := s.inputs.Find(ctx, ws, store.Query{Filter: bson.D{
		{Key: "flow_run_id", Value: store.Binary(run)}, {Key: "key", Value: bson.D{{Key: "$in", Value: keys}}},
	}})
	if err != nil {
		return nil, err
	}
	for _, w := range waiting {
		if slices.Contains(keys, w.Message.GetKey()) {
			present = append(present, w.Message)
		}
	}
	effects := make([]store.Effect, 0, len(present))
	for _, input := range present {
		id, err := uuid.Parse(input.GetId())
		if err != nil {
			return nil, fmt.Errorf("read the id of an input of run %s: %w", run, err)
		}
		effects = append(effects, s.inputs.Store().ResourceEffect(kindInputDelete, ws, id))
	}
	return effects, nil
}

// DeleteInputs executes effects of that kind.
func (s *Service) DeleteInputs(ctx context.Context, effects []store.Effect) error {
	return store.EachWorkspace(effects, func(ws uuid.UUID, ids []uuid.UUID) error {
		return s.inputs.DeleteMany(ctx, ws, bson.D{{Key: "_id", Value: store.OneOf(ids)}})
	})
}

// waitingInputs returns the inputs that are still in the outbox. It first executes the deletions that are there, so that
// whoever reads the inputs next finds none that is deleted.
func (s *Service) waitingInputs(ctx context.Context, ws, run uuid.UUID) ([]store.Message[*orchv1.FlowRunInput], error) {
	pending, err := s.runs.Store().Pending(ctx, query.FlowRun, store.DocumentKey{Workspace: ws, ID: run})
	if err != nil {
		return nil, err
	}
	waiting, err := store.PendingMessages(s.inputs, pending, kindInput, ws)
	if err != nil {
		return nil, err
	}
	deletions := slices.DeleteFunc(pending, func(e store.Effect) bool { return e.Kind != kindInputDelete })
	if len(deletions) == 0 {
		return waiting, nil
	}
	if err := s.DeleteInputs(ctx, deletions); err != nil {
		return nil, err
	}
	deleted := map[string]bool{}
	err = store.EachResource(deletions, func(_, id uuid.UUID) error {
		deleted[id.String()] = true
		return nil
	})
	return slices.DeleteFunc(waiting, func(w store.Message[*orchv1.FlowRunInput]) bool { return deleted[w.Message.GetId()] }), err
}
