package directory

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/auth"
)

// Caller is the owner of a request's key.
type Caller struct {
	// ID is the id of the user or service account; Actor is their id in access lists and events.
	ID, Actor string
	Name      string
	// Account is the account of a service account; empty for users.
	Account string
	// ServiceAccount distinguishes programs from people.
	ServiceAccount bool
	// Administrator may administer the whole server.
	Administrator bool
	// KeyExpires is the expiration of the key; zero for never.
	KeyExpires time.Time
}

// Identify returns the owner of a key. Errors are ErrUnknownKey, also for expired keys, and ErrStale.
func (d *Directory) Identify(token string) (Caller, error) {
	if !auth.KeyShaped(token) {
		return Caller{}, ErrUnknownKey
	}
	if err := d.Current(); err != nil {
		return Caller{}, err
	}
	return d.identify(auth.Digest(token))
}

// IdentifyDigest is Identify for the digest of a key, which is what a session of the dashboard has.
func (d *Directory) IdentifyDigest(digest string) (Caller, error) {
	if err := d.Current(); err != nil {
		return Caller{}, err
	}
	return d.identify(digest)
}

func (d *Directory) identify(digest string) (Caller, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	k, ok := d.keys[digest]
	if !ok || !auth.SameDigest(k.GetDigest(), digest) {
		return Caller{}, ErrUnknownKey
	}
	if k.Expiration != nil && !d.opts.Clock.Now().Before(k.GetExpiration().AsTime()) {
		return Caller{}, ErrUnknownKey
	}
	owner := d.entries[k.owner]
	actor := owner.GetActor()
	if account := actor.GetAccountId(); account != "" && d.entries[Key(Account, account)].GetAccount() == nil {
		return Caller{}, ErrUnknownKey // The account was deleted, and its service account will be.
	}
	caller := Caller{
		ID: owner.GetId(), Actor: actor.GetActorId(), Name: actor.GetName(),
		Account: actor.GetAccountId(), ServiceAccount: actor.GetAccountId() != "", Administrator: actor.GetAdministrator(),
	}
	if k.Expiration != nil {
		caller.KeyExpires = k.GetExpiration().AsTime()
	}
	return caller, nil
}

// AccountScopes returns the scopes of a caller in an account; false if the caller is not a member of it, or it does not
// exist.
func (d *Directory) AccountScopes(c Caller, account string) (access.Set, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	role, ok := d.memberRole(c, account)
	if !ok {
		return nil, false
	}
	scopes, _ := access.AccountRole(role)
	return scopes.Scopes, true
}

// memberRole returns the account role of a caller.
func (d *Directory) memberRole(c Caller, account string) (role string, member bool) {
	if d.entries[Key(Account, account)].GetAccount() == nil {
		return "", false
	}
	given, member := d.members[pair{account, c.Actor}]
	return given.role, member
}

// WorkspaceScopes returns the scopes of a caller in a workspace of an account. It returns false if the caller is not a
// member of the account, or the account has no such workspace. The scopes of a member's own role and of their teams are
// joined; without a role there are none.
func (d *Directory) WorkspaceScopes(c Caller, account, workspace string) (access.Set, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.entries[Key(Workspace, workspace)].GetWorkspace().GetAccountId() != account {
		return nil, false
	}
	memberRole, ok := d.memberRole(c, account)
	if !ok {
		return nil, false
	}
	if access.OwnsWorkspaces(memberRole) {
		owner, _ := access.WorkspaceRole(access.WorkspaceOwner)
		return owner.Scopes, true
	}
	granted := d.scopesOf(account, d.access[pair{workspace, c.Actor}].role)
	for _, team := range d.teams[pair{account, c.Actor}] {
		granted = access.Union(granted, d.scopesOf(account, d.access[pair{workspace, team}].role))
	}
	return granted, true
}

// scopesOf returns the scopes of a workspace role in the workspaces of an account; an empty id has none.
func (d *Directory) scopesOf(account, role string) access.Set {
	if role == "" {
		return nil
	}
	if builtIn, ok := access.WorkspaceRole(role); ok {
		return builtIn.Scopes
	}
	if d.entries[Key(Role, role)].GetRole().GetAccountId() != account {
		return nil
	}
	return d.roles[role]
}

// Admits reports whether an account may be used from an address. No list contains an unknown address.
func (d *Directory) Admits(account uuid.UUID, from netip.Addr) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if len(d.allowed) == 0 {
		return true
	}
	networks, enforced := d.allowed[account.String()]
	return !enforced || networks.Contain(from)
}

// HasWorkspace reports whether an account has a workspace.
func (d *Directory) HasWorkspace(account, workspace string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	w := d.entries[Key(Workspace, workspace)].GetWorkspace()
	return w != nil && w.GetAccountId() == account
}

// HasAccount reports whether an account exists.
func (d *Directory) HasAccount(account string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.entries[Key(Account, account)].GetAccount() != nil
}

// EventsPerSecond returns the quota of events that the operator has set for an account; false if there is none.
func (d *Directory) EventsPerSecond(account string) (limit int64, own bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a := d.entries[Key(Account, account)].GetAccount()
	if a == nil || a.EventsPerSecond == nil {
		return 0, false
	}
	return a.GetEventsPerSecond(), true
}

// Choice is a workspace that a caller may choose.
type Choice struct {
	Account, AccountHandle string
	ID, Name               string
}

// Workspaces lists the workspaces in which a caller has at least one scope, by account handle and name.
func (d *Directory) Workspaces(c Caller) []Choice {
	d.mu.RLock()
	var all []Choice
	for _, e := range d.entries {
		if w := e.GetWorkspace(); w != nil {
			account := d.entries[Key(Account, w.GetAccountId())].GetAccount()
			all = append(all, Choice{Account: w.GetAccountId(), AccountHandle: account.GetHandle(), ID: e.GetId(), Name: w.GetName()})
		}
	}
	d.mu.RUnlock()
	all = slices.DeleteFunc(all, func(w Choice) bool {
		scopes, member := d.WorkspaceScopes(c, w.Account, w.ID)
		return !member || len(scopes) == 0
	})
	slices.SortFunc(all, func(a, b Choice) int {
		return cmp.Or(strings.Compare(a.AccountHandle, b.AccountHandle), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return all
}
