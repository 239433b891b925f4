package roles

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteOfAccount deletes the roles of a deleted account.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	reg := s.registry
	return reg.Roles.Drain(ctx, account, nil, func(id uuid.UUID) error {
		err := reg.Roles.Delete(ctx, account, id, func(*orchv1.WorkspaceRole) ([]store.Effect, error) {
			return []store.Effect{reg.Follow(directory.Role, account, id)}, nil
		})
		if err == nil {
			reg.FlushEffects(ctx, query.WorkspaceRole, id)
		}
		return err
	})
}
