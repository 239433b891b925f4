package teams

import (
	"context"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// UpdateTeam replaces the name and the description.
func (s *Service) UpdateTeam(ctx context.Context, r *orchv1.UpdateTeamRequest) (*orchv1.Team, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	return s.mutate(ctx, info, id, func(next *orchv1.Team) ([]tenancy.AuditEntry, error) {
		next.Name, next.Description = r.GetTeam().GetName(), r.GetTeam().Description
		return []tenancy.AuditEntry{auditEntry(next, id, "updated")}, nil
	})
}
