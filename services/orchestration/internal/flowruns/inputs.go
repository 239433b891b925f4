package flowruns

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// inputNotFound is the 404 for an unknown input.
func inputNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Flow run input not found")
	}
	return err
}

// CreateFlowRunInput stores a value under an unused key of a run.
func (s *Service) CreateFlowRunInput(ctx context.Context, r *orchv1.CreateFlowRunInputRequest) (*emptypb.Empty, error) {
	ws, run, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if _, err := s.runs.Get(ctx, ws, run); err != nil {
		return nil, translate(err)
	}
	if _, err := s.waitingInputs(ctx, ws, run); err != nil { // A deleted input must not refuse its successor.
		return nil, err
	}
	err = s.inputs.Insert(ctx, ws, &orchv1.FlowRunInput{
		Id: s.inputs.Store().NewID().String(), FlowRunId: run.String(),
		Key: r.GetInput().GetKey(), Value: r.GetInput().GetValue(), Sender: r.GetInput().Sender,
	})
	if errors.Is(err, store.ErrDuplicate) {
		return nil, rpc.Detail(http.StatusConflict, "A flow run input with this key already exists.")
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// ReadFlowRunInputs returns the inputs of a run with a key prefix, oldest first.
func (s *Service) ReadFlowRunInputs(ctx context.Context, r *orchv1.ReadFlowRunInputsRequest) (*orchv1.FlowRunInputList, error) {
	ws, run, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	q := r.GetQuery()
	if q.GetLimit() < 0 {
		return nil, rpc.Invalid(rpc.BodyError("greater_than_equal", "Input should be greater than or equal to 0", "limit"))
	}
	// Read the outbox first: an input that leaves it meanwhile is in the collection.
	waiting, err := s.waitingInputs(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	filter, err := query.Begins("key", q.GetPrefix())
	if err != nil {
		return nil, err
	}
	if excluded := q.GetExcludeKeys(); len(excluded) > 0 {
		filter = bson.D{{Key: "$and", Value: bson.A{filter, bson.D{{Key: "key", Value: bson.D{{Key: "$nin", Value: excluded}}}}}}}
	}
	filter = append(bson.D{{Key: "flow_run_id", Value: store.Binary(run)}}, filter...)
	found, err := s.inputs.Find(ctx, ws, store.Query{Filter: filter, Sort: bson.D{{Key: "key", Value: 1}}, Bytes: store.MaxAnswerBytes})
	if err != nil {
		return nil, err
	}
	for _, w := range waiting {
		found = append(found, w.Message)
	}
	seen := map[string]bool{}
	found = slices.DeleteFunc(found, func(input *orchv1.FlowRunInput) bool {
		key := input.GetKey()
		out := seen[key] || !strings.HasPrefix(key, q.GetPrefix()) || slices.Contains(q.GetExcludeKeys(), key)
		seen[key] = true
		return out
	})
	slices.SortFunc(found, func(a, b *orchv1.FlowRunInput) int {
		return cmp.Or(a.GetCreated().AsTime().Compare(b.GetCreated().AsTime()), strings.Compare(a.GetId(), b.GetId()))
	})
	return &orchv1.FlowRunInputList{Inputs: found[:min(int64(len(found)), q.GetLimit())]}, nil
}

// ReadFlowRunInput returns the value of an input as it was sent.
func (s *Service) ReadFlowRunInput(ctx context.Context, r *orchv1.ReadFlowRunInputRequest) (*httpbody.HttpBody, error) {
	ws, run, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, inputNotFound(err)
	}
	input, err := s.input(ctx, ws, run, r.GetKey())
	if err != nil {
		return nil, inputNotFound(err)
	}
	return &httpbody.HttpBody{ContentType: "text/plain; charset=utf-8", Data: []byte(input.GetValue())}, nil
}

// DeleteFlowRunInput deletes an input.
func (s *Service) DeleteFlowRunInput(ctx context.Context, r *orchv1.DeleteFlowRunInputRequest) (*emptypb.Empty, error) {
	ws, run, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, inputNotFound(err)
	}
	if _, err := s.input(ctx, ws, run, r.GetKey()); err != nil {
		return nil, inputNotFound(err)
	}
	waiting, err := s.waitingInputs(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	for _, w := range waiting {
		if w.Message.GetKey() != r.GetKey() {
			continue
		}
		box := store.Outbox{DocumentKey: store.DocumentKey{Workspace: ws, ID: run}, Effects: []store.Effect{w.Effect}}
		if err := s.runs.Store().Done(ctx, query.FlowRun, box); err != nil {
			return nil, err
		}
	}
	byKey := bson.D{{Key: "flow_run_id", Value: store.Binary(run)}, {Key: "key", Value: r.GetKey()}}
	if err := s.inputs.DeleteMany(ctx, ws, byKey); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// input reads an input by its key.
func (s *Service) input(ctx context.Context, ws, run uuid.UUID, key string) (*orchv1.FlowRunInput, error) {
	waiting, err := s.waitingInputs(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	for _, w := range waiting {
		if w.Message.GetKey() == key {
			return w.Message, nil
		}
	}
	return s.inputs.First(ctx, ws, bson.D{{Key: "flow_run_id", Value: store.Binary(run)}, {Key: "key", Value: key}})
}
