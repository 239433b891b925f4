package tenancy

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindDirectory is the kind of the effect that updates a directory entry.
const KindDirectory = "directory"

// Follow is the effect that updates the directory entry of a document. Its body is the document's id. The document is
// read when the effect is executed, so a delayed effect writes no stale entry.
func (r *Registry) Follow(kind directory.Kind, owner, id uuid.UUID) store.Effect {
	body := append(append(append([]byte(nil), owner[:]...), id[:]...), kind...)
	return store.Effect{ID: r.Store.NewID(), At: r.Store.Now(), Kind: KindDirectory, Body: body}
}

// Publish executes effects of KindDirectory.
func (r *Registry) Publish(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		if len(e.Body) < 32 {
			return store.Permanent(fmt.Errorf("decode directory effect: %d bytes are not a document id", len(e.Body)))
		}
		owner, id, kind := uuid.UUID(e.Body[:16]), uuid.UUID(e.Body[16:32]), directory.Kind(e.Body[32:])
		if err := r.write(ctx, kind, owner, id); err != nil {
			return err
		}
	}
	return nil
}

// write updates one entry. It reads the store after the entry that it replaces, so the last writer writes the current
// state. A deleted document leaves a tombstone: without it a delayed writer could restore the old entry.
func (r *Registry) write(ctx context.Context, kind directory.Kind, owner, id uuid.UUID) error {
	key := directory.Key(kind, id.String())
	err := r.directory.Swap(ctx, key, func(current []byte) ([]byte, error) {
		entry, err := r.entry(ctx, kind, owner, id)
		if err != nil {
			return nil, err
		}
		if published, err := directory.Decode(current); err == nil && current != nil && proto.Equal(published, entry) {
			return nil, nil
		}
		return directory.Encode(entry)
	})
	if err != nil {
		return fmt.Errorf("update directory: %w", err)
	}
	return nil
}

// deletedRevision is that of a tombstone.
const deletedRevision = math.MaxInt64

// entry builds the directory entry of a document.
func (r *Registry) entry(ctx context.Context, kind directory.Kind, owner, id uuid.UUID) (*orchv1.DirectoryEntry, error) {
	switch kind {
	case directory.Account:
		return entryOf(ctx, r.Accounts, owner, id, accountEntry)
	case directory.Workspace:
		return entryOf(ctx, r.Workspaces, owner, id, workspaceEntry)
	case directory.User:
		return entryOf(ctx, r.Users, owner, id, userEntry)
	case directory.ServiceAccount:
		return entryOf(ctx, r.ServiceAccounts, owner, id, serviceAccountEntry)
	case directory.Membership:
		return entryOf(ctx, r.Memberships, owner, id, func(m *orchv1.AccountMembership, e *orchv1.DirectoryEntry) {
			e.Membership = &orchv1.DirectoryMembership{AccountId: owner.String(), ActorId: m.GetActorId(), AccountRoleId: m.GetAccountRoleId()}
		})
	case directory.Team:
		return entryOf(ctx, r.Teams, owner, id, teamEntry)
	case directory.Access:
		return entryOf(ctx, r.Access, owner, id, func(a *orchv1.WorkspaceAccess, e *orchv1.DirectoryEntry) {
			e.Access = &orchv1.DirectoryAccess{WorkspaceId: owner.String(), ActorId: a.GetActorId(), WorkspaceRoleId: a.GetWorkspaceRoleId()}
		})
	case directory.Role:
		return entryOf(ctx, r.Roles, owner, id, func(role *orchv1.WorkspaceRole, e *orchv1.DirectoryEntry) {
			e.Role = &orchv1.DirectoryRole{AccountId: owner.String(), Scopes: scopesOf(role).Sorted()}
		})
	}
	return nil, fmt.Errorf("update directory: unknown kind %q", kind)
}

func entryOf[M proto.Message](
	ctx context.Context, from *store.Collection[M], owner, id uuid.UUID, fill func(M, *orchv1.DirectoryEntry),
) (*orchv1.DirectoryEntry, error) {
	document, revision, err := store.GetRevision(ctx, from, owner, id)
	if errors.Is(err, store.ErrNotFound) {
		return &orchv1.DirectoryEntry{Id: id.String(), Revision: deletedRevision}, nil
	}
	if err != nil {
		return nil, err
	}
	entry := &orchv1.DirectoryEntry{Id: id.String(), Revision: revision}
	fill(document, entry)
	return entry, nil
}

func accountEntry(a *orchv1.Account, e *orchv1.DirectoryEntry) {
	e.Account = &orchv1.DirectoryAccount{Handle: a.GetHandle(), EnforceIpAllowlist: a.GetSettings().GetEnforceIpAllowlist()}
	if a.GetQuotas() != nil {
		e.Account.EventsPerSecond = a.GetQuotas().EventsPerSecond
	}
	for _, allowed := range a.GetIpAllowlist().GetEntries() {
		if allowed.GetEnabled() {
			e.Account.AllowedNetworks = append(e.Account.AllowedNetworks, allowed.GetIpNetwork())
		}
	}
}

func teamEntry(t *orchv1.Team, e *orchv1.DirectoryEntry) {
	e.Team = &orchv1.DirectoryTeam{AccountId: t.GetAccountId()}
	for _, m := range t.GetMemberships() {
		e.Team.MemberIds = append(e.Team.MemberIds, m.GetId())
	}
}

func workspaceEntry(w *orchv1.Workspace, e *orchv1.DirectoryEntry) {
	e.Workspace = &orchv1.DirectoryWorkspace{AccountId: w.GetAccountId(), Name: w.GetName()}
}

func userEntry(u *orchv1.User, e *orchv1.DirectoryEntry) {
	e.Actor = &orchv1.DirectoryActor{
		ActorId: u.GetActorId(), Name: u.GetHandle(), Administrator: u.GetAdministrator(), Keys: keyEntries(u.GetKeys()),
	}
}

func serviceAccountEntry(s *orchv1.ServiceAccount, e *orchv1.DirectoryEntry) {
	e.Actor = &orchv1.DirectoryActor{
		ActorId: s.GetActorId(), Name: s.GetName(), AccountId: proto.String(s.GetAccountId()),
		AccountRoleId: proto.String(s.GetAccountRoleId()), Keys: keyEntries(s.GetKeys()),
	}
}

func keyEntries(keys []*orchv1.ApiKey) []*orchv1.DirectoryKey {
	var entries []*orchv1.DirectoryKey
	for _, k := range keys {
		entries = append(entries, &orchv1.DirectoryKey{Id: k.GetId(), Digest: k.GetDigest(), Expiration: k.Expiration})
	}
	return entries
}

// scopesOf returns the scopes of a custom role.
func scopesOf(role *orchv1.WorkspaceRole) access.Set {
	own := access.NewSet(role.GetScopes()...)
	if role.InheritedRoleId == nil {
		return own
	}
	inherited, _ := access.WorkspaceRole(role.GetInheritedRoleId())
	return access.Union(own, inherited.Scopes)
}
