package accounts

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// CreateAccount creates an account, then the caller's ownership, then its first workspace. An account without the other
// two was interrupted; the same call completes it.
func (s *Service) CreateAccount(ctx context.Context, r *orchv1.CreateAccountRequest) (*orchv1.Account, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	create, reg := r.GetAccount(), s.registry
	id := reg.Store.NewID()
	info.Account = id
	a := &orchv1.Account{
		Id: id.String(), Name: create.GetName(), Handle: create.GetHandle(), PlanType: create.GetPlanType(), Settings: &orchv1.AccountSettings{},
	}
	if create.Handle == nil {
		a.Handle = tenancy.Handle(create.GetName())
	}
	effects, err := reg.Effects(info, reg.Follow(directory.Account, tenancy.Server, id),
		tenancy.AuditEntry{Kind: "account", Action: "created", ID: id, Name: a.GetName()})
	if err != nil {
		return nil, err
	}
	if err := reg.Accounts.Insert(ctx, tenancy.Server, a, effects...); err != nil {
		return nil, tenancy.Taken(err, "An account with this handle exists already.")
	}
	reg.FlushEffects(ctx, query.Account, id)
	if err := s.settle(ctx, info, id); err != nil {
		return nil, err
	}
	return s.present(a), nil
}

// settle creates the owner's membership and the first workspace of a new account.
func (s *Service) settle(ctx context.Context, info request.Info, account uuid.UUID) error {
	reg := s.registry
	user := tenancy.OwnerID
	if info.Caller.Known() {
		user = info.Caller.ID
	}
	owner, err := reg.Users.Get(ctx, tenancy.Server, user)
	if err != nil {
		return err
	}
	membership := tenancy.MembershipID(account, user)
	err = reg.Memberships.Insert(ctx, account, &orchv1.AccountMembership{
		Id: membership.String(), UserId: owner.GetId(), ActorId: owner.GetActorId(), AccountRoleId: access.AccountOwner,
	}, reg.Follow(directory.Membership, account, membership))
	if err != nil {
		return err
	}
	reg.FlushEffects(ctx, query.Membership, membership)
	workspace := reg.Store.NewID()
	err = reg.Workspaces.Insert(ctx, account, &orchv1.Workspace{
		Id: workspace.String(), AccountId: account.String(), Name: "Default", Handle: "default", DefaultWorkspaceRoleId: access.WorkspaceViewer,
	}, reg.Follow(directory.Workspace, account, workspace))
	if err != nil {
		return err
	}
	reg.FlushEffects(ctx, query.Workspace, workspace)
	return nil
}
