package flowruns

import (
	"context"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// BulkDeleteFlowRuns deletes the matching runs, newest first.
func (s *Service) BulkDeleteFlowRuns(ctx context.Context, r *orchv1.BulkDeleteFlowRunsRequest) (*orchv1.FlowRunBulkDeleteResponse, error) {
	response := &orchv1.FlowRunBulkDeleteResponse{}
	err := s.source.Each(ctx, r.GetQuery(), r.GetQuery().GetLimit(), func(ws, id uuid.UUID) error {
		err := s.delete(ctx, ws, id)
		if err == nil {
			response.Deleted = append(response.Deleted, id.String())
			s.flush.Flush(ctx, query.FlowRun, ws, id)
		}
		return err
	})
	return response, err
}

// BulkSetFlowRunState proposes one state for each of the matching runs, newest first.
func (s *Service) BulkSetFlowRunState(ctx context.Context, r *orchv1.BulkSetFlowRunStateRequest) (*orchv1.FlowRunBulkSetStateResponse, error) {
	response := &orchv1.FlowRunBulkSetStateResponse{}
	wanted := r.GetTransition()
	err := s.source.Each(ctx, wanted, wanted.GetLimit(), func(ws, id uuid.UUID) error {
		t, err := s.applyTransition(ctx, ws, id, policyOf(wanted.GetForce()), fixedProposal(wanted.GetState()))
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
