package directory_test

import (
	"net/netip"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/directory"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	actor  = "01890000-0000-7000-8000-000000000010"
	first  = "01890000-0000-7000-8000-000000000011"
	second = "01890000-0000-7000-8000-000000000012"
)

// tenant adds an account with a workspace and a member who has no role of their own there.
func (w *world) tenant() directory.Caller {
	w.say(broker.Change{Key: directory.Complete})
	w.put(directory.Account, &orchv1.DirectoryEntry{Id: account, Account: &orchv1.DirectoryAccount{}})
	w.put(directory.Workspace, &orchv1.DirectoryEntry{Id: workspace, Workspace: &orchv1.DirectoryWorkspace{AccountId: account}})
	w.put(directory.Membership, &orchv1.DirectoryEntry{Id: user, Membership: &orchv1.DirectoryMembership{
		AccountId: account, ActorId: actor, AccountRoleId: access.AccountMember,
	}})
	return directory.Caller{ID: user, Actor: actor}
}

func (w *world) team(id, account string, members ...string) {
	w.put(directory.Team, &orchv1.DirectoryEntry{Id: id, Team: &orchv1.DirectoryTeam{AccountId: account, MemberIds: members}})
}

func (w *world) give(id, to, role string) {
	w.put(directory.Access, &orchv1.DirectoryEntry{Id: id, Access: &orchv1.DirectoryAccess{WorkspaceId: workspace, ActorId: to, WorkspaceRoleId: role}})
}

func TestTeamsAddTheirRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.tenant()
	may := func(scope string) bool {
		w.settle()
		scopes, ok := w.WorkspaceScopes(caller, account, workspace)
		require.True(t, ok)
		return scopes.Has(scope)
	}
	w.team(first, account, program, actor)
	require.False(t, may("see_flows"), "the team has no role")
	w.give(program, first, access.WorkspaceViewer)
	require.True(t, may("see_flows"))
	require.False(t, may("manage_flow_runs"))
	w.team(second, account, actor)
	w.give(role, second, access.WorkspaceRunner)
	require.True(t, may("see_flows") && may("manage_flow_runs"), "two teams")
	w.team(second, account)
	require.False(t, may("manage_flow_runs"))
	require.True(t, may("see_flows"))
	w.team(second, other, actor)
	require.False(t, may("manage_flow_runs"), "a team of another account means nothing here")
	w.give(user, actor, access.WorkspaceRunner)
	require.True(t, may("manage_flow_runs"), "the own role")
	w.put(directory.Access, &orchv1.DirectoryEntry{Id: user})
	w.put(directory.Team, &orchv1.DirectoryEntry{Id: first})
	require.False(t, may("see_flows"), "the team is gone")
	w.put(directory.Membership, &orchv1.DirectoryEntry{Id: user})
	w.team(first, account, actor)
	w.settle()
	_, ok := w.WorkspaceScopes(caller, account, workspace)
	require.False(t, ok, "whoever left the account has nothing of its teams")
}

func TestAccountsAreUsedFromWhereTheyAllow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tenant()
	admits := func(account, from string) bool {
		w.settle()
		address, _ := netip.ParseAddr(from)
		return w.Admits(uuid.MustParse(account), address)
	}
	put := func(enforced bool, networks ...string) {
		w.put(directory.Account, &orchv1.DirectoryEntry{Id: account, Account: &orchv1.DirectoryAccount{EnforceIpAllowlist: enforced, AllowedNetworks: networks}})
	}
	put(false, "192.0.2.0/24")
	require.True(t, admits(account, "198.51.100.1"), "it is not enforced")
	put(true, "192.0.2.0/24", "2001:db8::1")
	require.True(t, admits(account, "192.0.2.200") && admits(account, "2001:db8::1") && admits(other, "198.51.100.1"))
	require.False(t, admits(account, "198.51.100.1") || admits(account, "2001:db8::2") || admits(account, "unknown"))
	for _, networks := range [][]string{nil, {"192.0.2.0/24", "everywhere"}} {
		put(true, networks...)
		require.False(t, admits(account, "192.0.2.200"), "a list that is empty or cannot be read has nobody")
	}
	put(false)
	require.True(t, admits(account, "198.51.100.1"))
}

func TestKeysOfProgramsDieWithTheirAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tenant()
	token, key := newKey()
	owner := account
	w.put(directory.ServiceAccount, &orchv1.DirectoryEntry{Id: program, Actor: &orchv1.DirectoryActor{
		ActorId: actor, AccountId: &owner, Keys: []*orchv1.DirectoryKey{key},
	}})
	w.settle()
	_, err := w.Identify(token)
	require.NoError(t, err)
	w.put(directory.Account, &orchv1.DirectoryEntry{Id: account})
	w.settle()
	_, err = w.Identify(token)
	require.ErrorIs(t, err, directory.ErrUnknownKey)
}
