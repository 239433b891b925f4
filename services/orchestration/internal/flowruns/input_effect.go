package flowruns

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindInput is the effect that writes the input with which a run was resumed: it exists when the run goes on, and only
// then.
const kindInput = "flow_run_input"

// bring is the effect that stores a value under a key of a run.
func (s *Service) bring(ws uuid.UUID, run, key string, value []byte) (store.Effect, error) {
	of := s.inputs.Store()
	id, now := of.NewID(), of.Now()
	body, err := proto.MarshalOptions{}.MarshalAppend(append([]byte(nil), ws[:]...), &orchv1.FlowRunInput{
		Id: id.String(), Created: timestamppb.New(now), Updated: timestamppb.New(now), FlowRunId: run, Key: key, Value: string(value),
	})
	if err != nil {
		return store.Effect{}, fmt.Errorf("write an input: %w", err)
	}
	return store.Effect{ID: id, At: now, Kind: kindInput, Body: body}, nil
}

func inputOf(e store.Effect) (uuid.UUID, *orchv1.FlowRunInput, error) {
	if len(e.Body) < len(uuid.UUID{}) {
		return uuid.Nil, nil, fmt.Errorf("read an effect: %d bytes are no input", len(e.Body))
	}
	input := &orchv1.FlowRunInput{}
	if err := proto.Unmarshal(e.Body[16:], input); err != nil {
		return uuid.Nil, nil, fmt.Errorf("read an effect: %w", err)
	}
	return uuid.UUID(e.Body[:16]), input, nil
}

// WriteInputs carries out effects of that kind. A key that is taken meanwhile keeps its value.
func (s *Service) WriteInputs(ctx context.Context, effects []store.Effect) error {
	docs := make([]bson.Raw, 0, len(effects))
	for _, e := range effects {
		ws, input, err := inputOf(e)
		if err != nil {
			return err
		}
		doc, err := store.NewDocument(ws, input, time.Time{})
		if err != nil {
			return err
		}
		docs = append(docs, doc)
	}
	return s.inputs.InsertNew(ctx, docs)
}

// waitingInput is an input that the relay has not written yet.
type waitingInput struct {
	effect store.Effect
	input  *orchv1.FlowRunInput
}

func (s *Service) waitingInputs(ctx context.Context, ws, run uuid.UUID) ([]waitingInput, error) {
	pending, err := s.runs.Store().Pending(ctx, query.FlowRun, run)
	if err != nil {
		return nil, err
	}
	var waiting []waitingInput
	for _, e := range pending {
		if e.Kind != kindInput {
			continue
		}
		of, input, err := inputOf(e)
		if err != nil {
			return nil, err
		}
		// A run of another workspace shows nothing.
		if of == ws {
			waiting = append(waiting, waitingInput{e, input})
		}
	}
	return waiting, nil
}
