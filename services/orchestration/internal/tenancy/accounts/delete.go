package accounts

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// KindClose is the kind of the effect that deletes the resources of a deleted account.
const KindClose = "account_close"

// DeleteAccount deletes an account. The first write ends every membership and service account key; effects delete the
// account's resources. The account's own events are deleted too, so the audit event goes to the default account, whose
// owners administer the server.
func (s *Service) DeleteAccount(ctx context.Context, _ *orchv1.DeleteAccountRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	id := info.Account
	if id == request.DefaultAccount {
		return nil, rpc.Detail(http.StatusConflict, "The default account cannot be deleted: it is what addresses without ids mean.")
	}
	reg, teller := s.registry, info
	teller.Account = request.DefaultAccount
	err = reg.Accounts.Delete(ctx, tenancy.Server, id, func(current *orchv1.Account) ([]store.Effect, error) {
		effects, err := reg.Effects(teller, reg.Follow(directory.Account, tenancy.Server, id),
			tenancy.AuditEntry{Kind: "account", Action: "deleted", ID: id, Name: current.GetName()})
		return append(effects, reg.Store.ResourceEffect(KindClose, tenancy.Server, id)), err
	})
	if err != nil {
		return nil, tenancy.Missing(err, "Account")
	}
	reg.FlushEffects(ctx, query.Account, id)
	return &emptypb.Empty{}, nil
}

// Close executes effects of KindClose.
func (s *Service) Close(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(_, account uuid.UUID) error { return s.close(ctx, account) })
}
