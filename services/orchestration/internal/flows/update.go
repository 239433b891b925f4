package flows

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateFlow changes the fields that the request contains.
func (s *Service) UpdateFlow(ctx context.Context, r *orchv1.UpdateFlowRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	_, err = s.change(ctx, ws, id, func(next *orchv1.Flow) error {
		fieldmask.Apply(next, r.GetFlow(), r.GetUpdateMask().GetPaths())
		return nil
	})
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// change edits a flow and publishes the change.
func (s *Service) change(ctx context.Context, ws, id uuid.UUID, edit func(next *orchv1.Flow) error) (*orchv1.Flow, error) {
	return s.flows.Mutate(ctx, ws, id, store.Edit(edit, func(current, next *orchv1.Flow) ([]store.Effect, error) {
		updated, err := s.lifecycle(ws, next, current, "updated")
		return []store.Effect{updated}, err
	}))
}
