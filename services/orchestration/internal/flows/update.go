package flows

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateFlow changes the fields that the request contains.
func (s *Service) UpdateFlow(ctx context.Context, r *orchv1.UpdateFlowRequest) (*emptypb.Empty, error) {
	return crud.Update(ctx, notFound, r.GetId(), s.change, crud.Masked[*orchv1.Flow](r.GetFlow(), r.GetUpdateMask()))
}

// change edits a flow and publishes the change.
func (s *Service) change(ctx context.Context, ws, id uuid.UUID, edit func(next *orchv1.Flow) error) (*orchv1.Flow, error) {
	return s.flows.Mutate(ctx, ws, id, store.Edit(edit, s.lifecycle.Updated(ctx, ws)))
}
