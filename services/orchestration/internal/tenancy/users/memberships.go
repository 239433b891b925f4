package users

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// present sets the fields of a membership that come from its user and role.
func present(m *orchv1.AccountMembership, u *orchv1.User) *orchv1.AccountMembership {
	role, _ := access.AccountRole(m.GetAccountRoleId())
	m.AccountRoleName = role.Name
	m.FirstName, m.LastName, m.Handle, m.Email = u.GetFirstName(), u.GetLastName(), u.GetHandle(), u.GetEmail()
	return m
}

// CreateAccountMembership creates a user with a first key as a member of the account. Nobody verifies addresses, so another account
// may have a user with the same one: the response reveals nothing of that.
func (s *Service) CreateAccountMembership(ctx context.Context, r *orchv1.CreateAccountMembershipRequest) (*orchv1.AccountMembership, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	create, reg := r.GetMembership(), s.registry
	role := access.AccountMember
	if create.AccountRoleId != nil {
		role = create.GetAccountRoleId()
	}
	if err := reg.CheckAccountRoles(ctx, info, role); err != nil {
		return nil, err
	}
	if _, err := reg.Accounts.Get(ctx, tenancy.Server, info.Account); err != nil {
		return nil, tenancy.Missing(err, "Account")
	}
	switch taken, err := reg.IsMember(ctx, info.Account, create.GetEmail()); {
	case err != nil:
		return nil, err
	case taken:
		return nil, errAddressTaken
	}
	expiration, err := reg.Expiration(info.Caller, nil, "")
	if err != nil {
		return nil, err
	}
	end, err := s.quotas.Begin(ctx, info.Account, quota.APIKeys)
	if err != nil {
		return nil, err
	}
	defer end()
	id := reg.Store.NewID()
	stored, shown := reg.NewKey(reg.Vocabulary.UserKeyPrefix(), "first key", expiration)
	u := &orchv1.User{
		Id: id.String(), ActorId: reg.Store.NewID().String(), Handle: create.GetHandle(), Email: create.GetEmail(),
		FirstName: create.GetFirstName(), LastName: create.GetLastName(), Keys: []*orchv1.ApiKey{stored}, Welcomed: true,
		AccountAddress: tenancy.AccountAddress(info.Account, create.GetEmail()),
	}
	if create.Handle == nil {
		u.Handle, _, _ = strings.Cut(create.GetEmail(), "@")
	}
	effects, err := reg.Effects(info, reg.Follow(directory.User, tenancy.Server, id), tenancy.AuditEntry{Kind: "user", Action: "created", ID: id, Name: u.GetHandle()})
	if err != nil {
		return nil, err
	}
	if err := reg.Users.Insert(ctx, tenancy.Server, u, effects...); err != nil {
		if errors.Is(err, store.ErrDuplicate) {
			return nil, errAddressTaken
		}
		return nil, err
	}
	m := &orchv1.AccountMembership{
		Id: tenancy.MembershipID(info.Account, id).String(), UserId: u.GetId(), ActorId: u.GetActorId(), AccountRoleId: role,
	}
	membership := uuid.MustParse(m.GetId())
	effects, err = reg.Effects(info, reg.Follow(directory.Membership, info.Account, membership), auditEntry(m, membership, "created"))
	if err != nil {
		return nil, err
	}
	if err := reg.Memberships.Insert(ctx, info.Account, m, effects...); err != nil {
		return nil, err
	}
	reg.FlushEffects(ctx, query.User, id)
	reg.FlushEffects(ctx, query.Membership, membership)
	m.ApiKey = shown
	return present(m, u), nil
}

// errAddressTaken refuses an address that another member of the account has.
var errAddressTaken = rpc.Detail(http.StatusConflict, "This e-mail address cannot be added.")

func auditEntry(m *orchv1.AccountMembership, id uuid.UUID, action string) tenancy.AuditEntry {
	return tenancy.AuditEntry{Kind: "account-membership", Action: action, ID: id, Name: m.GetUserId()}
}

// ReadAccountMemberships returns the matching members, sorted by e-mail address.
func (s *Service) ReadAccountMemberships(ctx context.Context, r *orchv1.ReadAccountMembershipsRequest) (*orchv1.AccountMembershipList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	reg := s.registry
	members, err := reg.Memberships.Find(ctx, info.Account, store.Query{Sort: bson.D{{Key: "_id", Value: 1}}, Bytes: store.MaxAnswerBytes})
	if err != nil {
		return nil, err
	}
	list := &orchv1.AccountMembershipList{}
	wanted := r.GetQuery().GetAccountMemberships().GetEmail().GetAny_()
	for _, m := range members {
		id, err := resourceid.Parse(m.GetUserId())
		if err != nil {
			return nil, err
		}
		u, err := reg.Users.Get(ctx, tenancy.Server, id)
		if err != nil {
			return nil, err
		}
		if wanted == nil || slices.Contains(wanted.GetValues(), u.GetEmail()) {
			list.Memberships = append(list.Memberships, present(m, u))
		}
	}
	slices.SortStableFunc(list.Memberships, func(a, b *orchv1.AccountMembership) int { return strings.Compare(a.GetEmail(), b.GetEmail()) })
	return list, nil
}

// UpdateAccountMembership changes a member's role.
func (s *Service) UpdateAccountMembership(ctx context.Context, r *orchv1.UpdateAccountMembershipRequest) (*emptypb.Empty, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), "Account membership")
	if err != nil {
		return nil, err
	}
	reg, role := s.registry, r.GetMembership().GetAccountRoleId()
	edit := func(next *orchv1.AccountMembership) error {
		if err := reg.CheckAccountRoles(ctx, info, role, next.GetAccountRoleId()); err != nil {
			return err
		}
		if next.GetAccountRoleId() == role {
			return nil
		}
		if err := s.keepsOwner(ctx, info.Account, next); err != nil {
			return err
		}
		next.AccountRoleId = role
		return nil
	}
	_, err = reg.Memberships.Mutate(ctx, info.Account, id, store.Edit(edit, func(_, next *orchv1.AccountMembership) ([]store.Effect, error) {
		return reg.Effects(info, reg.Follow(directory.Membership, info.Account, id), auditEntry(next, id, "updated"))
	}))
	if err != nil {
		return nil, tenancy.Missing(err, "Account membership")
	}
	reg.FlushEffects(ctx, query.Membership, id)
	return &emptypb.Empty{}, nil
}

// keepsOwner rejects the removal of an account's last owner.
func (s *Service) keepsOwner(ctx context.Context, account uuid.UUID, m *orchv1.AccountMembership) error {
	if m.GetAccountRoleId() != access.AccountOwner {
		return nil
	}
	members, err := s.registry.Memberships.Find(ctx, account, store.Query{Sort: bson.D{{Key: "_id", Value: 1}}})
	if err != nil {
		return err
	}
	for _, other := range members {
		if other.GetAccountRoleId() == access.AccountOwner && other.GetId() != m.GetId() {
			return nil
		}
	}
	return rpc.Detail(http.StatusConflict, "An account needs an owner.")
}

// DeleteAccountMembership ends a membership and revokes the user's roles in the account's workspaces.
func (s *Service) DeleteAccountMembership(ctx context.Context, r *orchv1.DeleteAccountMembershipRequest) (*emptypb.Empty, error) {
	info, id, err := tenancy.Locate(ctx, r.GetId(), "Account membership")
	if err != nil {
		return nil, err
	}
	reg := s.registry
	var actor uuid.UUID
	err = reg.Memberships.Delete(ctx, info.Account, id, func(current *orchv1.AccountMembership) ([]store.Effect, error) {
		if err := reg.CheckAccountRoles(ctx, info, current.GetAccountRoleId()); err != nil {
			return nil, err
		}
		if err := s.keepsOwner(ctx, info.Account, current); err != nil {
			return nil, err
		}
		var err error
		if actor, err = resourceid.Parse(current.GetActorId()); err != nil {
			return nil, err
		}
		effects, err := reg.Effects(info, reg.Follow(directory.Membership, info.Account, id), auditEntry(current, id, "deleted"))
		return append(effects, reg.RemoveActor(info.Account, actor)), err
	})
	if err != nil {
		return nil, tenancy.Missing(err, "Account membership")
	}
	reg.FlushEffects(ctx, query.Membership, id)
	return &emptypb.Empty{}, nil
}
