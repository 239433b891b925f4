package serviceaccounts

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
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
	return &emptypb.Empty{}, s.accounts.Delete(ctx, info, info.Account, id, func(current *orchv1.ServiceAccount) ([]store.Effect, error) {
		if err := reg.CheckAccountRoles(ctx, info, current.GetAccountRoleId()); err != nil {
			return nil, err
		}
		actor, err := resourceid.Parse(current.GetActorId())
		if err != nil {
			return nil, err
		}
		return []store.Effect{reg.Store.ResourceEffect(KindUnbind, info.Account, id), reg.RemoveActor(info.Account, actor)}, nil
	})
}

// DeleteOfAccount deletes the service accounts of a deleted account. Deleting its workspaces deletes their webhooks and
// roles.
func (s *Service) DeleteOfAccount(ctx context.Context, account uuid.UUID) error {
	return s.accounts.DeleteOf(ctx, account, nil)
}

// Unbind executes effects of KindUnbind.
func (s *Service) Unbind(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(account, id uuid.UUID) error { return s.unbind(ctx, account, id) })
}
