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
	return s.insert(ctx, info.Workspace, s.variables.Store().NewID(), r.GetVariable())
}

func (s *Service) insert(ctx context.Context, ws, id uuid.UUID, create *orchv1.VariableCreate) (*orchv1.Variable, error) {
	if err := check(create.GetName(), create.Value); err != nil {
		return nil, err
	}
	variable := newVariable(id, create)
	created, err := s.lifecycle(ws, variable, nil, "created")
	if err != nil {
		return nil, err
	}
	if err := s.variables.Insert(ctx, ws, variable, created); err != nil {
		if errors.Is(err, store.ErrDuplicate) {
			return nil, rpc.Detail(http.StatusConflict, fmt.Sprintf("A variable with the name '%s' already exists.", variable.GetName()))
		}
		return nil, err
	}
	return variable, nil
}

// newVariable builds the variable from a request.
func newVariable(id uuid.UUID, create *orchv1.VariableCreate) *orchv1.Variable {
	return &orchv1.Variable{Id: id.String(), Name: create.GetName(), Value: create.Value, Tags: create.GetTags()}
}
