package accounts

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindEnforce is the kind of the effect that disables the webhooks of an account without a service account.
const KindEnforce = "webhook_enforcement"

// KindIngestion is the kind of the effect that publishes an account's ingestion settings to the hooks service. Package
// webhooks, which owns the webhook definitions, executes it.
const KindIngestion = "account_ingestion"

// Enforce executes effects of KindEnforce, unless the enforcement was switched off in the meantime.
func (s *Service) Enforce(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(_, account uuid.UUID) error {
		enforced, err := s.registry.EnforcesWebhookAuthentication(ctx, account)
		if err != nil || !enforced {
			return err
		}
		return s.disable(ctx, account)
	})
}
