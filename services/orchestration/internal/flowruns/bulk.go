package flowruns

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// BulkDeleteFlowRuns deletes runs that match, the newest first.
func (s *Service) BulkDeleteFlowRuns(ctx context.Context, r *orchv1.BulkDeleteFlowRunsRequest) (*orchv1.FlowRunBulkDeleteResponse, error) {
	response := &orchv1.FlowRunBulkDeleteResponse{}
	err := s.each(ctx, r.GetQuery(), r.GetQuery().GetLimit(), func(ws, id uuid.UUID) error {
		err := s.delete(ctx, ws, id)
		if err == nil {
			response.Deleted = append(response.Deleted, id.String())
		}
		return err
	})
	return response, err
}

// BulkSetFlowRunState lets the rules judge one proposed state for each of the runs that match, the newest first.
func (s *Service) BulkSetFlowRunState(ctx context.Context, r *orchv1.BulkSetFlowRunStateRequest) (*orchv1.FlowRunBulkSetStateResponse, error) {
	response := &orchv1.FlowRunBulkSetStateResponse{}
	wanted := r.GetTransition()
	err := s.each(ctx, wanted, wanted.GetLimit(), func(ws, id uuid.UUID) error {
		t, err := s.transit(ctx, ws, id, policyOf(wanted.GetForce()), always(wanted.GetState()))
		if err != nil {
			return err
		}
		result := t.Result()
		response.Results = append(response.Results, &orchv1.FlowRunOrchestrationResult{
			FlowRunId: id.String(), Status: result.GetStatus(), State: result.State, Details: result.GetDetails(),
		})
		return nil
	})
	return response, err
}

// each visits the first runs that a message selects; those that are gone when their turn comes are passed over.
func (s *Service) each(ctx context.Context, q proto.Message, limit int64, visit func(ws, id uuid.UUID) error) error {
	info, err := request.Incoming(ctx)
	if err != nil {
		return err
	}
	selection, err := s.selection(ctx, q)
	if err != nil {
		return err
	}
	runs, err := s.page(ctx, selection, orchv1.FlowRunSort_FLOW_RUN_SORT_ID_DESC, 0, limit)
	if err != nil {
		return err
	}
	for _, run := range runs {
		id, err := uuid.Parse(run.GetId())
		if err != nil {
			return fmt.Errorf("read the id of a flow run: %w", err)
		}
		if err := visit(info.Workspace, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}
