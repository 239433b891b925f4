package tenancy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// errBeyond rejects a caller who would grant or take over more permissions than they have.
var errBeyond = rpc.Detail(http.StatusForbidden, "You may not give or change a role that allows more than your own.")

// AccountRole returns the caller's account role. Without API keys everybody is an owner.
func (r *Registry) AccountRole(ctx context.Context, info request.Info) (string, error) {
	caller := info.Caller
	switch {
	case !caller.Known():
		return access.AccountOwner, nil
	case caller.ServiceAccount:
		s, err := r.ServiceAccounts.Get(ctx, info.Account, caller.ID)
		return s.GetAccountRoleId(), err
	}
	m, err := r.membershipOf(ctx, info.Account, caller.Actor)
	return m.GetAccountRoleId(), err
}

func (r *Registry) membershipOf(ctx context.Context, account, actor uuid.UUID) (*orchv1.AccountMembership, error) {
	return r.Memberships.First(ctx, account, bson.D{{Key: "actor_id", Value: store.Binary(actor)}})
}

// IsMember reports whether an email address belongs to a member of an account.
func (r *Registry) IsMember(ctx context.Context, account uuid.UUID, email string) (bool, error) {
	var ids []uuid.UUID
	err := r.Users.Each(ctx, Server, store.Query{Filter: bson.D{{Key: "email", Value: email}}, Sort: bson.D{{Key: "email", Value: 1}}}, func(user *orchv1.User) bool {
		if id, err := uuid.Parse(user.GetId()); err == nil {
			ids = append(ids, id)
		}
		return true
	})
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		switch _, err := r.Memberships.Get(ctx, account, MembershipID(account, id)); {
		case err == nil:
			return true, nil
		case !errors.Is(err, store.ErrNotFound):
			return false, err
		}
	}
	return false, nil
}

// AccountAddress is the unique key of an address within the account that creates its user.
func AccountAddress(account uuid.UUID, email string) *string {
	key := account.String() + " " + email
	return &key
}

// AccountOf returns the account that created a user; false for the first user of the server, whom no account created.
func AccountOf(u *orchv1.User) (uuid.UUID, bool) {
	account, _, _ := strings.Cut(u.GetAccountAddress(), " ")
	id, err := uuid.Parse(account)
	return id, err == nil
}

// CheckAccountRoles rejects a caller who may not grant or revoke these account roles: only owners grant or revoke
// ownership.
func (r *Registry) CheckAccountRoles(ctx context.Context, info request.Info, roles ...string) error {
	own, err := r.AccountRole(ctx, info)
	if errors.Is(err, store.ErrNotFound) {
		return errBeyond // The membership ended in the meantime.
	}
	if err != nil {
		return err
	}
	for _, id := range roles {
		role, ok := access.AccountRole(id)
		if !ok {
			return rpc.Invalid(rpc.BodyError("value_error", "Value error, no account role has this id", "account_role_id"))
		}
		if mine, _ := access.AccountRole(own); !mine.Scopes.Covers(role.Scopes) {
			return errBeyond
		}
	}
	return nil
}

// RoleScopes returns the scopes of a workspace role of an account, or ErrNotFound.
func (r *Registry) RoleScopes(ctx context.Context, account uuid.UUID, id string) (access.Set, error) {
	if builtIn, ok := access.WorkspaceRole(id); ok {
		return builtIn.Scopes, nil
	}
	parsed, err := uuid.Parse(id)
	if err != nil {
		return nil, errors.Join(store.ErrNotFound, err)
	}
	role, err := r.Roles.Get(ctx, account, parsed)
	if err != nil {
		return nil, err
	}
	return scopesOf(role), nil
}

// WorkspaceScopes returns the caller's scopes in a workspace of the call's account.
func (r *Registry) WorkspaceScopes(ctx context.Context, info request.Info, workspace uuid.UUID) (access.Set, error) {
	role, err := r.AccountRole(ctx, info)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if access.OwnsWorkspaces(role) {
		owner, _ := access.WorkspaceRole(access.WorkspaceOwner)
		return owner.Scopes, nil
	}
	actors, err := r.actors(ctx, info)
	if err != nil {
		return nil, err
	}
	given, err := r.Access.Find(ctx, workspace, store.Query{Filter: bson.D{{Key: "actor_id", Value: bson.D{{Key: "$in", Value: actors}}}}, Sort: bson.D{{Key: "_id", Value: 1}}})
	if err != nil {
		return nil, err
	}
	var granted access.Set
	for _, a := range given {
		scopes, err := r.RoleScopes(ctx, info.Account, a.GetWorkspaceRoleId())
		if errors.Is(err, store.ErrNotFound) {
			continue // The role was deleted and allows nothing.
		}
		if err != nil {
			return nil, err
		}
		granted = access.Union(granted, scopes)
	}
	return granted, nil
}

// actors returns the caller's actor ids in workspace access lists, as stored: the caller and the caller's teams.
func (r *Registry) actors(ctx context.Context, info request.Info) (bson.A, error) {
	actors := bson.A{store.Binary(info.Caller.Actor)}
	teams, err := r.teamsOf(ctx, info.Account, info.Caller.Actor)
	for _, id := range teams {
		actors = append(actors, store.Binary(id))
	}
	return actors, err
}

// teamsOf returns the teams of an account that have the actor as a member.
func (r *Registry) teamsOf(ctx context.Context, account, actor uuid.UUID) ([]uuid.UUID, error) {
	found, err := r.Teams.Find(ctx, account, store.Query{Filter: bson.D{{Key: "memberships.id", Value: store.Binary(actor)}}, Sort: bson.D{{Key: "_id", Value: 1}}})
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(found))
	for i, t := range found {
		if ids[i], err = uuid.Parse(t.GetId()); err != nil {
			return nil, fmt.Errorf("read team id: %w", err)
		}
	}
	return ids, nil
}

// CheckWorkspaceRole rejects a caller who may not grant this workspace role: it must not allow more than their own.
func (r *Registry) CheckWorkspaceRole(ctx context.Context, info request.Info, role string) error {
	wanted, err := r.RoleScopes(ctx, info.Account, role)
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, no workspace role has this id", "workspace_role_id"))
	}
	if err != nil {
		return err
	}
	own, err := r.WorkspaceScopes(ctx, info, info.Workspace)
	if err != nil {
		return err
	}
	// A scope that no operation requires allows nothing, so everybody may grant it.
	asked := access.Set{}
	for scope := range wanted {
		if access.Scopes(orchv1.Realm_REALM_UNSPECIFIED).Has(scope) {
			asked[scope] = true
		}
	}
	if !own.Covers(asked) {
		return errBeyond
	}
	return nil
}
