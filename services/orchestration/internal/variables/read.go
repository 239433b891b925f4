package variables

import (
	"context"
	"errors"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadVariable returns a variable by its id.
func (s *Service) ReadVariable(ctx context.Context, r *orchv1.ReadVariableRequest) (*orchv1.Variable, error) {
	return crud.ByID(ctx, notFound, r.GetId(), s.variables.Get)
}

// ReadVariableByName returns a variable by its name.
func (s *Service) ReadVariableByName(ctx context.Context, r *orchv1.ReadVariableByNameRequest) (*orchv1.Variable, error) {
	return crud.ByKey(ctx, notFound, r.GetName(), s.byName)
}

// Lookup reads the value of a variable as JSON. It returns false when no variable has that name.
func (s *Service) Lookup(ctx context.Context, ws uuid.UUID, name string) (value []byte, found bool, err error) {
	variable, err := s.byName(ctx, ws, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if variable.Value == nil {
		return []byte("null"), true, nil
	}
	return variable.GetValue(), true, nil
}
