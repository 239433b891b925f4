package accounts

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindEnforce is the effect that disables the webhooks of an account that have no service account.
const KindEnforce = "webhook_enforcement"

// KindIntake is the effect that tells the hooks service what an account lets its webhooks take. Package webhooks, which
// keeps the catalogue, carries it out.
const KindIntake = "account_intake"

// Enforce executes effects of KindEnforce, unless the switch was thrown back meanwhile.
func (s *Service) Enforce(ctx context.Context, effects []store.Effect) error {
	return store.EachSubject(effects, func(_, account uuid.UUID) error {
		enforced, err := s.registry.EnforcesWebhookAuthentication(ctx, account)
		if err != nil || !enforced {
			return err
		}
		return s.disable(ctx, account)
	})
}
