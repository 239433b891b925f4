package flows

import (
	"context"
	"errors"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReplaceFlow replaces the flow of an id, or creates it: 200 or 201. It refuses a name that another flow has.
func (s *Service) ReplaceFlow(ctx context.Context, r *orchv1.ReplaceFlowRequest) (*orchv1.Flow, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	flow, err := s.change(ctx, ws, id, store.Become(newFlow(id, r.GetFlow())))
	if !errors.Is(err, store.ErrNotFound) {
		return flow, err
	}
	// A concurrent creation wins, and this call returns a conflict.
	if flow, err = s.insert(ctx, ws, id, r.GetFlow()); err != nil {
		return nil, err
	}
	return flow, rpc.SetStatus(ctx, http.StatusCreated)
}
