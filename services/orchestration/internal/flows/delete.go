package flows

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/deployments"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteFlow deletes a flow and, after it, its deployments and its runs.
func (s *Service) DeleteFlow(ctx context.Context, r *orchv1.DeleteFlowRequest) (*emptypb.Empty, error) {
	ws, id, err := call.Locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if err := s.delete(ctx, ws, id); err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// BulkDeleteFlows deletes flows that match, the first ones by name.
func (s *Service) BulkDeleteFlows(ctx context.Context, r *orchv1.BulkDeleteFlowsRequest) (*orchv1.FlowBulkDeleteResponse, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, r.GetQuery())
	if err != nil {
		return nil, err
	}
	flows, err := s.page(ctx, selection, orchv1.FlowSort_FLOW_SORT_UNSPECIFIED, 0, r.GetQuery().GetLimit())
	if err != nil {
		return nil, err
	}
	response := &orchv1.FlowBulkDeleteResponse{}
	for _, flow := range flows {
		id, err := uuid.Parse(flow.GetId())
		if err != nil {
			return nil, fmt.Errorf("read the id of a flow: %w", err)
		}
		err = s.delete(ctx, info.Workspace, id)
		if errors.Is(err, store.ErrNotFound) { // Somebody else was faster.
			continue
		}
		if err != nil {
			return nil, err
		}
		response.Deleted = append(response.Deleted, flow.GetId())
	}
	return response, nil
}

func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) error {
	return s.flows.Delete(ctx, ws, id, func(current *orchv1.Flow) ([]store.Effect, error) {
		deleted, err := s.lifecycle(ws, current, "deleted")
		if err != nil {
			return nil, err
		}
		of := s.flows.Store()
		return []store.Effect{deleted, deployments.DeleteOfFlow(of, ws, id), flowruns.DeleteOfFlow(of, ws, id)}, nil
	})
}
