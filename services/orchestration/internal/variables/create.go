package variables

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateVariable stores a variable. It refuses a duplicate name.
func (s *Service) CreateVariable(ctx context.Context, r *orchv1.CreateVariableRequest) (*orchv1.Variable, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	variable, err := newVariable(s.variables.Store().NewID(), r.GetVariable())
	if err != nil {
		return nil, err
	}
	if err := s.insert(ctx, info.Workspace, variable); err != nil {
		return nil, err
	}
	return variable, nil
}

// insert stores a variable and publishes its creation. A duplicate name is a 409.
func (s *Service) insert(ctx context.Context, ws uuid.UUID, variable *orchv1.Variable) error {
	created, err := s.lifecycle.Created(ctx, ws, variable)
	if err != nil {
		return err
	}
	err = s.variables.Insert(ctx, ws, variable, created...)
	if errors.Is(err, store.ErrDuplicate) {
		return rpc.Detail(http.StatusConflict, fmt.Sprintf("A variable with the name '%s' already exists.", variable.GetName()))
	}
	return err
}

// newVariable builds the variable from a request. It refuses a malformed name and a value that is too large.
func newVariable(id uuid.UUID, create *orchv1.VariableCreate) (*orchv1.Variable, error) {
	if err := check(create.GetName(), create.Value); err != nil {
		return nil, err
	}
	return &orchv1.Variable{Id: id.String(), Name: create.GetName(), Value: create.Value, Tags: create.GetTags()}, nil
}
