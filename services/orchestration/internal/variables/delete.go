package variables

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
)

// DeleteVariable deletes a variable.
func (s *Service) DeleteVariable(ctx context.Context, r *orchv1.DeleteVariableRequest) (*emptypb.Empty, error) {
	return crud.ByID(ctx, notFound, r.GetId(), s.delete)
}

// DeleteVariableByName deletes the variable of that name.
func (s *Service) DeleteVariableByName(ctx context.Context, r *orchv1.DeleteVariableByNameRequest) (*emptypb.Empty, error) {
	return s.withName(ctx, r.GetName(), s.delete)
}

func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, s.variables.Delete(ctx, ws, id, s.lifecycle.Deleted(ctx, ws))
}
