package orchestration_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// asOwner is a context of another account, for a call of the first user.
func (d *domain) asOwner(account, workspace uuid.UUID) context.Context {
	return request.Outgoing(d.t.Context(), request.Info{
		Account: account, Workspace: workspace, PublicURL: "http://orch.test/api", HooksURL: "http://orch.test/hooks",
		Peer: netip.MustParseAddr("192.0.2.7"),
	})
}

// callAs is call with a context.
func callAs[R proto.Message](ctx context.Context, d *domain, method string, r proto.Message) R {
	d.t.Helper()
	response, _, err := d.Call(ctx, method, r)
	require.NoError(d.t, err)
	return response.(R)
}

// documents counts what every collection holds of owners, by the collection.
func (d *domain) documents(owners ...uuid.UUID) map[string]int64 {
	d.t.Helper()
	database := d.store.Connect()
	names, err := database.ListCollectionNames(d.t.Context(), bson.D{})
	require.NoError(d.t, err)
	require.NotEmpty(d.t, names)
	found := map[string]int64{}
	for _, name := range names {
		for _, owner := range owners {
			n, err := database.Collection(name).CountDocuments(d.t.Context(), bson.D{{Key: "ws", Value: bson.Binary{Subtype: 4, Data: owner[:]}}})
			require.NoError(d.t, err)
			if n > 0 {
				found[name] += n
			}
		}
	}
	return found
}

func TestDeletedAccountsLeaveNoDocument(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	made := call[*orchv1.Account](d, orchv1.AccountService_CreateAccount_FullMethodName,
		&orchv1.CreateAccountRequest{Account: &orchv1.AccountCreate{Name: "gone", PlanType: "enterprise"}})
	id := uuid.MustParse(made.GetId())
	within := d.asOwner(id, uuid.Nil)
	ws := callAs[*orchv1.WorkspaceList](within, d, orchv1.WorkspaceService_ReadWorkspaces_FullMethodName, &orchv1.ReadWorkspacesRequest{}).GetWorkspaces()[0]
	inside := uuid.MustParse(ws.GetId())
	bot := callAs[*orchv1.ServiceAccount](within, d, orchv1.ServiceAccountService_CreateServiceAccount_FullMethodName,
		&orchv1.CreateServiceAccountRequest{ServiceAccount: &orchv1.ServiceAccountCreate{Name: "ci"}})
	member := callAs[*orchv1.AccountMembership](within, d, orchv1.UserService_CreateAccountMembership_FullMethodName,
		&orchv1.CreateAccountMembershipRequest{Membership: &orchv1.AccountMembershipCreate{Email: "ada@example.com"}})
	team := callAs[*orchv1.Team](within, d, orchv1.TeamService_CreateTeam_FullMethodName, &orchv1.CreateTeamRequest{Team: &orchv1.TeamWrite{Name: "t"}})
	callAs[*orchv1.Team](within, d, orchv1.TeamService_AddTeamMembers_FullMethodName, &orchv1.AddTeamMembersRequest{Id: team.GetId(), Members: &orchv1.TeamMembers{
		Members: []*orchv1.TeamMember{{MemberId: bot.GetId(), MemberType: orchv1.TeamMemberType_TEAM_MEMBER_TYPE_SERVICE_ACCOUNT}},
	}})
	callAs[*orchv1.WorkspaceRole](within, d, orchv1.RoleService_CreateWorkspaceRole_FullMethodName,
		&orchv1.CreateWorkspaceRoleRequest{Role: &orchv1.WorkspaceRoleWrite{Name: "r"}})
	below := d.asOwner(id, inside)
	callAs[*orchv1.WorkspaceAccessList](below, d, orchv1.WorkspaceAccessService_GrantTeamAccess_FullMethodName, &orchv1.GrantTeamAccessRequest{
		Grants: &orchv1.TeamAccessGrants{Kind: &orchv1.TeamAccessGrants_One{One: &orchv1.TeamAccessGrant{TeamId: team.GetId(), WorkspaceRoleId: access.WorkspaceViewer}}},
	})
	callAs[*orchv1.Flow](below, d, orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: "f"}})
	callAs[*orchv1.Webhook](below, d, orchv1.WebhookService_CreateWebhook_FullMethodName, &orchv1.CreateWebhookRequest{
		Webhook: &orchv1.WebhookCreate{Name: "w", Template: "{}", Enabled: true, ServiceAccountId: new(bot.GetId())},
	})
	for _, kind := range []string{"workspace", "service_account", "account_membership", "team", "workspace_role", "workspace_access", "flow", "webhook"} {
		require.Positive(t, d.documents(id, inside)[kind], kind)
	}
	require.Eventually(t, func() bool { return d.documents(id)["event"] > 0 }, time.Minute, time.Millisecond)

	callAs[*emptypb.Empty](within, d, orchv1.AccountService_DeleteAccount_FullMethodName, &orchv1.DeleteAccountRequest{})
	// Events that were on their way still come.
	require.Eventually(t, func() bool {
		left := d.documents(id, inside)
		delete(left, "event")
		return len(left) == 0
	}, 10*time.Second, time.Millisecond, "%v", d.documents(id, inside))
	user := uuid.MustParse(member.GetUserId())
	require.Empty(t, d.documents(user), "the user is removed, not only taken away")
	_, _, err := d.Call(within, orchv1.AccountService_ReadAccount_FullMethodName, &orchv1.ReadAccountRequest{})
	code, _ := status(err)
	require.Equal(t, 404, code)
	for what, attempt := range map[string]func() error{
		"workspace": func() error {
			_, _, err := d.Call(within, orchv1.WorkspaceService_CreateWorkspace_FullMethodName, &orchv1.CreateWorkspaceRequest{Workspace: &orchv1.WorkspaceCreate{Name: "late"}})
			return err
		},
		"team": func() error {
			_, _, err := d.Call(within, orchv1.TeamService_CreateTeam_FullMethodName, &orchv1.CreateTeamRequest{Team: &orchv1.TeamWrite{Name: "late"}})
			return err
		},
		"service account": func() error {
			_, _, err := d.Call(within, orchv1.ServiceAccountService_CreateServiceAccount_FullMethodName, &orchv1.CreateServiceAccountRequest{ServiceAccount: &orchv1.ServiceAccountCreate{Name: "late"}})
			return err
		},
	} {
		code, _ := status(attempt())
		require.Equal(t, 404, code, what)
	}
	// The e-mail address is free again, and the audit log of the default account has the deletion.
	call[*orchv1.AccountMembership](d, orchv1.UserService_CreateAccountMembership_FullMethodName,
		&orchv1.CreateAccountMembershipRequest{Membership: &orchv1.AccountMembershipCreate{Email: "ada@example.com"}})
	require.Eventually(t, func() bool {
		page := call[*orchv1.EventPage](d, orchv1.EventService_ReadAccountEvents_FullMethodName, &orchv1.ReadAccountEventsRequest{Query: &orchv1.EventQuery{
			Limit: 1, Filter: &orchv1.EventFilter{Event: &orchv1.EventNameFilter{Name: &orchv1.StringList{Values: []string{"orch-cloud.account.deleted"}}}},
		}})
		return page.GetTotal() == 1
	}, 10*time.Second, time.Millisecond)
}

func TestAllowlistsAreOpenedByTheOperator(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	here := d.asOwner(request.DefaultAccount, uuid.Nil)
	callAs[*emptypb.Empty](here, d, orchv1.AccountService_UpdateIpAllowlist_FullMethodName, &orchv1.UpdateIpAllowlistRequest{
		Allowlist: &orchv1.IpAllowlist{Entries: []*orchv1.IpAllowlistEntry{{IpNetwork: "192.0.2.0/24", Enabled: true}}},
	})
	callAs[*emptypb.Empty](here, d, orchv1.AccountService_UpdateAccountSettings_FullMethodName, &orchv1.UpdateAccountSettingsRequest{
		Settings: &orchv1.AccountSettingsUpdate{EnforceIpAllowlist: true}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"enforce_ip_allowlist"}},
	})
	dir := d.directory()
	there := netip.MustParseAddr("198.51.100.1")
	require.False(t, dir.Admits(request.DefaultAccount, there))
	opened, err := d.service.DisableAllowlists(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, opened)
	require.True(t, dir.CatchUp(t.Context()))
	require.True(t, dir.Admits(request.DefaultAccount, there))
	list := callAs[*orchv1.IpAllowlist](here, d, orchv1.AccountService_ReadIpAllowlist_FullMethodName, &orchv1.ReadIpAllowlistRequest{})
	require.Len(t, list.GetEntries(), 1, "the list stays")
	opened, err = d.service.DisableAllowlists(t.Context())
	require.NoError(t, err)
	require.Zero(t, opened)
}
