package serviceaccounts

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// KindUnbind is the kind of the effect that deletes the webhooks bound to a service account.
const KindUnbind = "service_account_webhooks"

// DeleteServiceAccount deletes a service account. It invalidates the keys first, then deletes the webhooks and roles.
func (s *Service) DeleteServiceAccount(ctx context.Context, r *orchv1.DeleteServiceAccountRequest) (*emptypb.Empty, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	reg := s.registry
	err = reg.ServiceAccounts.Delete(ctx, info.Account, id, func(current *orchv1.ServiceAccount) ([]store.Effect, error) {
		if err := reg.CheckAccountRoles(ctx, info, current.GetAccountRoleId()); err != nil {
			return nil, err
		}
		actor, err := resourceid.Parse(current.GetActorId())
		if err != nil {
			return nil, err
		}
		effects, err := reg.Effects(info, reg.Follow(directory.ServiceAccount, info.Account, id), auditEntry(current, id, "deleted"))
		return append(effects, reg.Store.ResourceEffect(KindUnbind, info.Account, id), reg.RemoveActor(info.Account, actor)), err
	})
	if err != nil {
		return nil, tenancy.Missing(err, noun)
	}
	reg.FlushEffects(ctx, query.ServiceAccount, id)
	return &emptypb.Empty{}, nil
}

// DeleteOfAccount deletes the service accounts of a deleted account. Deleting its workspaces deletes their webhooks and
// roles.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	reg := s.registry
	return reg.ServiceAccounts.Drain(ctx, account, nil, func(id uuid.UUID) error {
		err := reg.ServiceAccounts.Delete(ctx, account, id, func(*orchv1.ServiceAccount) ([]store.Effect, error) {
			return []store.Effect{reg.Follow(directory.ServiceAccount, account, id)}, nil
		})
		if err == nil {
			reg.FlushEffects(ctx, query.ServiceAccount, id)
		}
		return err
	})
}

// Unbind executes effects of KindUnbind.
func (s *Service) Unbind(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(account, id uuid.UUID) error { return s.unbind(ctx, account, id) })
}
