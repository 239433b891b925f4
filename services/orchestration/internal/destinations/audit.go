package destinations

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// audited adds the audit event of a change that the caller of a request makes to the effects of the change.
func (s *Service) audited(ctx context.Context, ws uuid.UUID, d *orchv1.Destination, action string, effects []store.Effect) ([]store.Effect, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	id, err := uuid.Parse(d.GetId())
	if err != nil {
		return nil, err
	}
	entry, err := s.Tenancy.Audit(info, tenancy.AuditEntry{Kind: kind, Action: action, ID: id, Name: d.GetName(), Workspace: ws})
	return append(effects, entry), err
}
