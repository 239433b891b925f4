package variables

import (
	"context"
	"errors"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReplaceVariable makes a variable of that id what was asked for, or creates it: 200 or 201. A name that another one
// has is refused.
func (s *Service) ReplaceVariable(ctx context.Context, r *orchv1.ReplaceVariableRequest) (*orchv1.Variable, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if err := check(r.GetVariable().GetName(), r.GetVariable().Value); err != nil {
		return nil, err
	}
	variable, err := s.change(ctx, ws, id, store.Become(newVariable(id, r.GetVariable())))
	if !errors.Is(err, store.ErrNotFound) {
		return variable, err
	}
	// Another call may create it between the look and the insert; then that one wins, and this one is a conflict.
	if variable, err = s.insert(ctx, ws, id, r.GetVariable()); err != nil {
		return nil, err
	}
	return variable, rpc.SetStatus(ctx, http.StatusCreated)
}
