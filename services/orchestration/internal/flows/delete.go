package flows

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/deployments"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteFlow deletes a flow and, after it, its deployments and its runs.
func (s *Service) DeleteFlow(ctx context.Context, r *orchv1.DeleteFlowRequest) (*emptypb.Empty, error) {
	return crud.Delete(ctx, notFound, r.GetId(), s.delete)
}

// BulkDeleteFlows deletes flows that match, the first ones by name.
func (s *Service) BulkDeleteFlows(ctx context.Context, r *orchv1.BulkDeleteFlowsRequest) (*orchv1.FlowBulkDeleteResponse, error) {
	response := &orchv1.FlowBulkDeleteResponse{}
	err := s.source.Each(ctx, r.GetQuery(), r.GetQuery().GetLimit(), func(ws, id uuid.UUID) error {
		err := s.delete(ctx, ws, id)
		if err == nil {
			response.Deleted = append(response.Deleted, id.String())
		}
		return err
	})
	return response, err
}

func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) error {
	err := s.flows.Delete(ctx, ws, id, func(current *orchv1.Flow) ([]store.Effect, error) {
		deleted, err := s.lifecycle.Effect(ctx, ws, "deleted", nil, current)
		if err != nil {
			return nil, err
		}
		db := s.flows.Store()
		return []store.Effect{deleted, deployments.DeleteOfFlow(db, ws, id), flowruns.DeleteOfFlow(db, ws, id)}, nil
	})
	if err == nil {
		s.flush.Flush(ctx, query.Flow, ws, id)
	}
	return err
}
