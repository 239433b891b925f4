package flows

import (
	"context"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
)

// ReplaceFlow replaces the flow of an id, or creates it: 200 or 201. It refuses a name that another flow has.
func (s *Service) ReplaceFlow(ctx context.Context, r *orchv1.ReplaceFlowRequest) (*orchv1.Flow, error) {
	return crud.Replacement[*orchv1.Flow]{
		NotFound: notFound,
		Build:    func(id uuid.UUID) (*orchv1.Flow, error) { return s.newFlow(id, r.GetFlow()) },
		Change:   s.change,
		Insert:   s.insert,
	}.Put(ctx, r.GetId())
}
