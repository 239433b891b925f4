package accounts

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindEnforce is the effect that disables the webhooks of an account that have no service account.
const KindEnforce = "webhook_enforcement"

// Enforce carries out effects of KindEnforce, unless the switch was thrown back meanwhile.
func (s *Service) Enforce(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		account, err := uuid.FromBytes(e.Body)
		if err != nil {
			return fmt.Errorf("read an effect: %w", err)
		}
		enforced, err := s.Enforced(ctx, account)
		if err != nil {
			return err
		}
		if !enforced {
			continue
		}
		if err := s.disable(ctx, request.Info{Account: account}); err != nil {
			return err
		}
	}
	return nil
}
