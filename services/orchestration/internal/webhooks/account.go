package webhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// PublishAccounts executes effects of accounts.KindIngestion: it updates the bucket entries of accounts.
func (s *Service) PublishAccounts(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(_, account uuid.UUID) error {
		err := s.definitions.Swap(ctx, webhookdef.AccountKey(account), func([]byte) ([]byte, error) { return s.accountEntry(ctx, account) })
		if err != nil {
			return fmt.Errorf("update account definition: %w", err)
		}
		return nil
	})
}

// accountEntry returns the bucket entry of an account. Swap reads the store after the entry that it replaces, as for
// webhooks. An account without rules has an empty definition. The entry of a deleted account remains, because no
// webhook refers to it.
func (s *Service) accountEntry(ctx context.Context, account uuid.UUID) ([]byte, error) {
	a, revision, err := store.GetRevision(ctx, s.tenancy.Accounts, tenancy.Server, account)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return webhookdef.EncodeAccount(&orchv1.AccountDefinition{
		Id: account.String(), Revision: revision,
		RateLimit: a.GetSettings().GetWebhookRateLimit(), AllowedIps: a.GetSettings().GetWebhookAllowedIps(),
		EventsPerSecond: ownEventsPerSecond(a),
	})
}

// reconcileAccounts writes the definition of every account whose entry is missing or outdated. Accounts that never had
// rules need none.
func (s *Service) reconcileAccounts(ctx context.Context) error {
	pass := s.tenancy.Store.Pass(ctx, "write the definition of an account")
	err := store.EachRevision(ctx, s.tenancy.Accounts, store.Query{}, func(one store.Owned[*orchv1.Account]) error {
		return pass.Record(s.reconcileAccount(ctx, one.Revision, one.Message), "account", one.Message.GetId())
	})
	return errors.Join(err, pass.Outage())
}

func (s *Service) reconcileAccount(ctx context.Context, revision int64, a *orchv1.Account) error {
	id, err := uuid.Parse(a.GetId())
	if err != nil {
		return fmt.Errorf("read the id of an account: %w", err)
	}
	hasRules := a.GetSettings().GetWebhookRateLimit() != nil || len(a.GetSettings().GetWebhookAllowedIps()) > 0 || ownEventsPerSecond(a) != nil
	return s.definitions.Swap(ctx, webhookdef.AccountKey(id), func(current []byte) ([]byte, error) {
		if len(current) == 0 && !hasRules {
			return nil, nil
		}
		if replaced, err := webhookdef.DecodeAccount(current); err == nil && replaced.GetRevision() == revision {
			return nil, nil
		}
		return s.accountEntry(ctx, id)
	})
}

// ownEventsPerSecond returns the quota of events that the operator has set for an account, nil for none.
func ownEventsPerSecond(a *orchv1.Account) *int64 {
	if a.GetQuotas() == nil {
		return nil
	}
	return a.GetQuotas().EventsPerSecond
}
