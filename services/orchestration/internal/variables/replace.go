package variables

import (
	"context"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
)

// ReplaceVariable replaces the variable of an id, or creates it: 200 or 201. It refuses a name that another variable has.
func (s *Service) ReplaceVariable(ctx context.Context, r *orchv1.ReplaceVariableRequest) (*orchv1.Variable, error) {
	return crud.Replacement[*orchv1.Variable]{
		NotFound: notFound,
		Build:    func(id uuid.UUID) (*orchv1.Variable, error) { return newVariable(id, r.GetVariable()) },
		Change:   s.change,
		Insert:   s.insert,
	}.Put(ctx, r.GetId())
}
