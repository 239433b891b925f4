package variables

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteVariable deletes a variable.
func (s *Service) DeleteVariable(ctx context.Context, r *orchv1.DeleteVariableRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	return s.delete(ctx, ws, id)
}

// DeleteVariableByName deletes the variable of that name.
func (s *Service) DeleteVariableByName(ctx context.Context, r *orchv1.DeleteVariableByNameRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locateName(ctx, r.GetName())
	if err != nil {
		return nil, translate(err)
	}
	return s.delete(ctx, ws, id)
}

func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
	err := s.variables.Delete(ctx, ws, id, func(current *orchv1.Variable) ([]store.Effect, error) {
		deleted, err := s.lifecycle(ws, current, nil, "deleted")
		return []store.Effect{deleted}, err
	})
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}
