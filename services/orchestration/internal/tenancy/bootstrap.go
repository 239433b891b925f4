package tenancy

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// The first user owns the default account and administers the server. The ids are the same in every installation.
var (
	OwnerID    = uuid.MustParse("00000000-0000-8000-8000-00000000000b")
	ownerActor = uuid.MustParse("00000000-0000-8000-8000-00000000000c")
)

// Bootstrap creates the default account and workspace and the first user in a new database. It writes the account last:
// without it a start was interrupted; once it exists, deleted resources are not created again.
func (r *Registry) Bootstrap(ctx context.Context) error {
	account, workspace := request.DefaultAccount, request.DefaultWorkspace
	membership := MembershipID(account, OwnerID)
	if _, err := r.Accounts.Get(ctx, Server, account); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	for _, insert := range []func() error{
		func() error {
			return r.Users.Insert(ctx, Server, &orchv1.User{
				Id: OwnerID.String(), ActorId: ownerActor.String(), Handle: "owner", Email: "owner@localhost", Administrator: true,
			}, r.Follow(directory.User, Server, OwnerID))
		},
		func() error {
			return r.Memberships.Insert(ctx, account, &orchv1.AccountMembership{
				Id: membership.String(), UserId: OwnerID.String(), ActorId: ownerActor.String(), AccountRoleId: access.AccountOwner,
			}, r.Follow(directory.Membership, account, membership))
		},
		func() error {
			return r.Workspaces.Insert(ctx, account, &orchv1.Workspace{
				Id: workspace.String(), AccountId: account.String(), Name: "Default", Handle: "default",
				DefaultWorkspaceRoleId: access.WorkspaceViewer,
			}, r.Follow(directory.Workspace, account, workspace))
		},
		func() error {
			return r.Accounts.Insert(ctx, Server, &orchv1.Account{
				Id: account.String(), Name: "Default", Handle: "default", PlanType: plans[len(plans)-1], Settings: &orchv1.AccountSettings{},
			}, r.Follow(directory.Account, Server, account))
		},
	} {
		if err := insert(); err != nil && !errors.Is(err, store.ErrDuplicate) {
			return fmt.Errorf("create first account: %w", err)
		}
	}
	return nil
}

// MembershipID is the id of a user's only membership of an account.
func MembershipID(account, user uuid.UUID) uuid.UUID { return uuid.NewSHA1(account, user[:]) }

// BootstrapOwnerKey creates the first user's first key and returns it. Later calls on the same database return an empty string.
func (r *Registry) BootstrapOwnerKey(ctx context.Context) (string, error) {
	return r.ownerKey(ctx, "first key", func(u *orchv1.User) bool { return !u.GetWelcomed() })
}

// Welcomed reports whether the first user has had a key.
func (r *Registry) Welcomed(ctx context.Context) (bool, error) {
	owner, err := r.Users.Get(ctx, Server, OwnerID)
	return owner.GetWelcomed(), err
}

// NewOwnerKey creates another key of the first user, for operators who lost theirs.
func (r *Registry) NewOwnerKey(ctx context.Context) (string, error) {
	return r.ownerKey(ctx, "made on the console", func(*orchv1.User) bool { return true })
}

func (r *Registry) ownerKey(ctx context.Context, name string, wanted func(*orchv1.User) bool) (string, error) {
	var key string
	_, err := r.Users.Mutate(ctx, Server, OwnerID, func(current *orchv1.User, _ int64) (*store.Change[*orchv1.User], error) {
		key = ""
		if !wanted(current) {
			return nil, nil
		}
		stored, shown := r.NewKey(r.Vocabulary.UserKeyPrefix(), name, nil)
		next := proto.Clone(current).(*orchv1.User)
		next.Keys, next.Welcomed = append(next.Keys, stored), true
		key = shown.GetKey()
		return &store.Change[*orchv1.User]{Message: next, Effects: []store.Effect{r.Follow(directory.User, Server, OwnerID)}}, nil
	})
	if err != nil {
		return "", fmt.Errorf("create owner key: %w", err)
	}
	return key, nil
}

// SpreadOwner executes the first user's effects.
func (r *Registry) SpreadOwner(ctx context.Context) { r.FlushEffects(ctx, query.User, OwnerID) }
