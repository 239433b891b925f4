package flows

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteFlow deletes a flow and, after it, its runs.
func (s *Service) DeleteFlow(ctx context.Context, r *orchv1.DeleteFlowRequest) (*emptypb.Empty, error) {
	ws, id, err := locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	err = s.flows.Delete(ctx, ws, id, func(current *orchv1.Flow) ([]store.Effect, error) {
		deleted, err := s.lifecycle(ws, current, "deleted")
		if err != nil {
			return nil, err
		}
		return []store.Effect{deleted, flowruns.DeleteOfFlow(s.flows.Store(), ws, id)}, nil
	})
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}
