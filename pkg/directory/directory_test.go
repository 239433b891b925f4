package directory_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	account   = "01890000-0000-7000-8000-00000000000a"
	other     = "01890000-0000-7000-8000-00000000000b"
	workspace = "01890000-0000-7000-8000-00000000000c"
	user      = "01890000-0000-7000-8000-00000000000d"
	program   = "01890000-0000-7000-8000-00000000000e"
	role      = "01890000-0000-7000-8000-00000000000f"
)

// script is a bucket whose changes a test writes, with a fixed clock.
type script struct {
	changes chan broker.Change
	mu      sync.Mutex
	now     time.Time
	contact time.Time
}

func (s *script) Watch(ctx context.Context, handle func(broker.Change)) error {
	for {
		select {
		case c := <-s.changes:
			handle(c)
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *script) CatchUp(context.Context) error { return nil }

func (s *script) LastContact() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contact
}

func (s *script) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *script) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// world is a directory that follows a script.
type world struct {
	*directory.Directory
	t *testing.T
	*script
}

func newWorld(t *testing.T) *world {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &script{changes: make(chan broker.Change), now: now, contact: now}
	d := directory.New(directory.Options{Bucket: s, Clock: s})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return &world{Directory: d, t: t, script: s}
}

// say delivers a change; it is applied before the next one is delivered.
func (w *world) say(c broker.Change) { w.changes <- c }

func (w *world) settle() {
	w.say(broker.Change{InitialDone: true})
	w.say(broker.Change{InitialDone: true})
}

func (w *world) put(kind directory.Kind, e *orchv1.DirectoryEntry) {
	value, err := directory.Encode(e)
	require.NoError(w.t, err)
	w.say(broker.Change{Key: directory.Key(kind, e.GetId()), Value: value})
}

func newKey() (string, *orchv1.DirectoryKey) {
	token, digest := auth.NewKey("onu_")
	return token, &orchv1.DirectoryKey{Id: role, Digest: digest}
}

func TestNobodyIsTrustedBeforeEverythingIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token, key := newKey()
	w.put(directory.User, &orchv1.DirectoryEntry{Id: user, Actor: &orchv1.DirectoryActor{ActorId: user, Keys: []*orchv1.DirectoryKey{key}}})
	identify := func() error {
		_, err := w.Identify(token)
		return err
	}
	require.ErrorIs(t, identify(), directory.ErrStale)
	require.ErrorIs(t, w.Loaded(), directory.ErrStale)
	w.settle()
	require.NoError(t, w.Loaded())
	require.ErrorIs(t, identify(), directory.ErrStale, "a bucket that nobody has written is not empty on purpose")
	w.say(broker.Change{Key: directory.Complete})
	w.settle()
	require.NoError(t, identify())
	w.pass(5 * time.Second)
	require.NoError(t, identify())
	w.pass(time.Millisecond)
	require.ErrorIs(t, identify(), directory.ErrStale, "it may have been revoked since")
	w.pass(-time.Hour)
	require.ErrorIs(t, identify(), directory.ErrStale, "the clock stepped back: the age is unknown")
	_, err := w.Identify("user:password")
	require.ErrorIs(t, err, directory.ErrUnknownKey, "no view is needed to tell")
}

func TestKeysAreKnownByTheirDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(broker.Change{Key: directory.Complete})
	token, key := newKey()
	expiring, expiringKey := newKey()
	expiringKey.Expiration = timestamppb.New(w.Now().Add(time.Second))
	entry := &orchv1.DirectoryEntry{Id: user, Actor: &orchv1.DirectoryActor{ActorId: role, Name: "ann", Administrator: true, Keys: []*orchv1.DirectoryKey{key, expiringKey}}}
	w.put(directory.User, entry)
	w.settle()
	caller, err := w.Identify(token)
	require.NoError(t, err)
	require.Equal(t, directory.Caller{ID: user, Actor: role, Name: "ann", Administrator: true}, caller)
	_, err = w.Identify(expiring)
	require.NoError(t, err)
	w.pass(time.Second)
	_, err = w.Identify(expiring)
	require.ErrorIs(t, err, directory.ErrUnknownKey)
	unknown, _ := newKey()
	_, err = w.Identify(unknown)
	require.ErrorIs(t, err, directory.ErrUnknownKey)

	entry.Actor.Keys = nil
	w.put(directory.User, entry)
	w.settle()
	_, err = w.Identify(token)
	require.ErrorIs(t, err, directory.ErrUnknownKey)
	w.say(broker.Change{Key: directory.Key(directory.User, user), Value: []byte{0xff}})
	w.settle()
	_, err = w.Identify(token)
	require.ErrorIs(t, err, directory.ErrUnknownKey, "what cannot be read is nobody's")
}

func TestScopesFollowRolesOfAccountAndWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(broker.Change{Key: directory.Complete})
	w.put(directory.Account, &orchv1.DirectoryEntry{Id: account, Account: &orchv1.DirectoryAccount{}})
	w.put(directory.Account, &orchv1.DirectoryEntry{Id: other, Account: &orchv1.DirectoryAccount{}})
	w.put(directory.Workspace, &orchv1.DirectoryEntry{Id: workspace, Workspace: &orchv1.DirectoryWorkspace{AccountId: account}})
	w.settle()
	ann, bot := directory.Caller{ID: user, Actor: user}, directory.Caller{ID: program, Actor: program}
	inWorkspace := func(c directory.Caller) (access.Set, bool) { return w.WorkspaceScopes(c, account, workspace) }

	_, member := inWorkspace(ann)
	require.False(t, member)
	given := &orchv1.DirectoryEntry{Id: role, Access: &orchv1.DirectoryAccess{WorkspaceId: workspace, ActorId: user, WorkspaceRoleId: access.WorkspaceOwner}}
	w.put(directory.Access, given)
	w.settle()
	_, member = inWorkspace(ann)
	require.False(t, member, "a role in a workspace is worth nothing without the account")

	membership := &orchv1.DirectoryEntry{Id: user, Membership: &orchv1.DirectoryMembership{AccountId: account, ActorId: user, AccountRoleId: access.AccountMember}}
	w.put(directory.Membership, membership)
	w.put(directory.ServiceAccount, &orchv1.DirectoryEntry{Id: program, Actor: &orchv1.DirectoryActor{
		ActorId: program, AccountId: proto.String(account), AccountRoleId: proto.String(access.AccountAdmin),
	}})
	w.settle()
	scopes, member := inWorkspace(ann)
	require.True(t, member && scopes.Has("manage_workspace_access"))
	scopes, _ = w.AccountScopes(ann, account)
	require.Equal(t, []string{"see_account"}, scopes.Sorted())
	_, member = w.AccountScopes(ann, other)
	require.False(t, member)
	_, member = w.WorkspaceScopes(ann, other, workspace)
	require.False(t, member, "the workspace is not of that account")
	scopes, member = inWorkspace(bot)
	require.True(t, member && scopes.Has("manage_workspace_access"), "administrators own all workspaces")

	// A custom role of the account, which it changes; another account's role with the same id has no effect.
	given.Access.WorkspaceRoleId = role
	w.put(directory.Access, given)
	w.put(directory.Role, &orchv1.DirectoryEntry{Id: role, Role: &orchv1.DirectoryRole{AccountId: account, Scopes: []string{"see_flows"}}})
	w.settle()
	scopes, _ = inWorkspace(ann)
	require.Equal(t, []string{"see_flows"}, scopes.Sorted())
	w.put(directory.Role, &orchv1.DirectoryEntry{Id: role, Role: &orchv1.DirectoryRole{AccountId: other, Scopes: []string{"see_flows"}}})
	w.settle()
	scopes, member = inWorkspace(ann)
	require.True(t, member)
	require.Empty(t, scopes)
	w.put(directory.Role, &orchv1.DirectoryEntry{Id: role})
	w.put(directory.Access, &orchv1.DirectoryEntry{Id: role})
	w.put(directory.Membership, &orchv1.DirectoryEntry{Id: user})
	w.settle()
	_, member = inWorkspace(ann)
	require.False(t, member)
	require.True(t, w.HasWorkspace(account, workspace) && !w.HasWorkspace(other, workspace) && w.HasAccount(other) && !w.HasAccount(role))
}

// The removal of an entry may arrive after its replacement.
func TestARemovalTakesBackOnlyWhatItsOwnEntryGave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(broker.Change{Key: directory.Complete})
	w.put(directory.Account, &orchv1.DirectoryEntry{Id: account, Account: &orchv1.DirectoryAccount{}})
	w.put(directory.Workspace, &orchv1.DirectoryEntry{Id: workspace, Workspace: &orchv1.DirectoryWorkspace{AccountId: account}})
	const first, second = role, program
	for _, id := range []string{first, second} {
		w.put(directory.Membership, &orchv1.DirectoryEntry{Id: id, Membership: &orchv1.DirectoryMembership{AccountId: account, ActorId: user, AccountRoleId: access.AccountMember}})
		w.put(directory.Access, &orchv1.DirectoryEntry{Id: id, Access: &orchv1.DirectoryAccess{WorkspaceId: workspace, ActorId: user, WorkspaceRoleId: access.WorkspaceOwner}})
	}
	remove := func(id string) {
		w.say(broker.Change{Key: directory.Key(directory.Membership, id), Deleted: true})
		w.say(broker.Change{Key: directory.Key(directory.Access, id), Deleted: true})
		w.settle()
	}
	ann := directory.Caller{ID: user, Actor: user}
	remove(first)
	scopes, member := w.WorkspaceScopes(ann, account, workspace)
	require.True(t, member && scopes.Has("manage_workspace_access"))
	remove(second)
	_, member = w.WorkspaceScopes(ann, account, workspace)
	require.False(t, member)
}
