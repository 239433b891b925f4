package web

import (
	"maps"
	"net/url"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// accountAnswers are the answers of the calls about the account.
func accountAnswers() answers {
	member := &orchv1.AccountMembership{
		Id: someID, UserId: someID, ActorId: someID, FirstName: "Ada " + hostile, Handle: "ada", Email: "ada@example.com", Created: at(time.Hour),
		AccountRoleName: "Member", AccountRoleId: access.AccountMember,
	}
	service := &orchv1.ServiceAccount{
		Id: someID, Name: "ci " + hostile, AccountRoleName: "Member", Created: at(time.Hour), ApiKey: &orchv1.ApiKey{Id: someID, Name: "first", Created: at(time.Hour)},
	}
	created := proto.CloneOf(member)
	created.ApiKey = &orchv1.ApiKey{Id: someID, Name: "first key", Created: at(0), Key: proto.String("onu_shown_once")}
	rotated := proto.CloneOf(service)
	rotated.ApiKey.Key = proto.String("onb_shown_once")
	team := &orchv1.Team{Id: someID, Name: "data " + hostile, Description: proto.String(hostile), Created: at(time.Hour), Memberships: []*orchv1.TeamMembership{
		{Id: someID, Type: orchv1.TeamMemberType_TEAM_MEMBER_TYPE_USER, MemberId: someID},
	}}
	owner := &orchv1.WorkspaceRole{Id: access.WorkspaceOwner, Name: "Owner", Scopes: []string{"manage_flows", "see_flows"}}
	own := &orchv1.WorkspaceRole{
		Id: someID, Name: "auditor " + hostile, Description: proto.String(hostile), Scopes: []string{"see_events"}, AccountId: proto.String(someID),
		InheritedRoleId: proto.String(access.WorkspaceOwner),
	}
	workspace := &orchv1.Workspace{Id: someID, AccountId: someID, Name: "main " + hostile, Handle: "main", Description: proto.String(hostile), Created: at(time.Hour)}
	entry := func(id string) *orchv1.WorkspaceAccess {
		return &orchv1.WorkspaceAccess{Id: id, Created: at(time.Hour), WorkspaceRoleId: access.WorkspaceOwner}
	}
	user, bot, group := entry("01890000-0000-7000-8000-00000000000a"), entry("01890000-0000-7000-8000-00000000000b"), entry("01890000-0000-7000-8000-00000000000c")
	user.UserId, bot.BotId, group.TeamId = proto.String(someID), proto.String(access.WorkspaceOwner), proto.String(someID)
	return answers{
		orchv1.AccountService_ReadAccount_FullMethodName: &orchv1.Account{
			Id: someID, Name: "Example " + hostile, Handle: "example", Created: at(time.Hour), Settings: &orchv1.AccountSettings{EnforceIpAllowlist: true},
		},
		orchv1.AccountService_ReadAccountQuotas_FullMethodName: &orchv1.AccountQuotaList{Quotas: []*orchv1.AccountQuota{
			{Name: "webhooks", Limit: proto.Int64(20), Used: proto.Int64(3)}, {Name: "events_per_second", Limit: proto.Int64(100)}, {Name: "blocks", Used: proto.Int64(0)},
		}},
		orchv1.AccountService_UpdateAccount_FullMethodName:         rpc.Invalid(rpc.BodyError("string_pattern_mismatch", "String should match the pattern", "handle")),
		orchv1.AccountService_UpdateAccountSettings_FullMethodName: &emptypb.Empty{},
		orchv1.AccountService_ReadIpAllowlist_FullMethodName: &orchv1.IpAllowlist{Entries: []*orchv1.IpAllowlistEntry{
			{IpNetwork: "192.0.2.0/24", Enabled: true, Description: proto.String("office " + hostile)}, {IpNetwork: "198.51.100.1"},
		}},
		orchv1.AccountService_CheckIpAllowlistAccess_FullMethodName: &orchv1.IpAllowlistAccess{Allowed: true, Detail: "192.0.2.1 is allowed."},
		orchv1.AccountService_UpdateIpAllowlist_FullMethodName:      &emptypb.Empty{},
		orchv1.WorkspaceService_ReadWorkspaces_FullMethodName:       &orchv1.WorkspaceList{Workspaces: []*orchv1.Workspace{workspace}},
		orchv1.UserService_ReadAccountMemberships_FullMethodName:    &orchv1.AccountMembershipList{Memberships: []*orchv1.AccountMembership{member}},
		orchv1.UserService_CreateAccountMembership_FullMethodName:   created,
		orchv1.RoleService_ReadAccountRoles_FullMethodName: &orchv1.AccountRoleList{Roles: []*orchv1.AccountRole{
			{Id: access.AccountOwner, Name: "Owner", IsSystemRole: true}, {Id: access.AccountMember, Name: "Member", IsSystemRole: true},
		}},
		orchv1.RoleService_ReadWorkspaceRoles_FullMethodName:                   &orchv1.WorkspaceRoleList{Roles: []*orchv1.WorkspaceRole{owner, own}},
		orchv1.RoleService_ReadWorkspaceRole_FullMethodName:                    own,
		orchv1.RoleService_ReadWorkspaceScopes_FullMethodName:                  &orchv1.WorkspaceScopeList{Scopes: []string{"see_events", "see_flows"}},
		orchv1.ServiceAccountService_ReadServiceAccounts_FullMethodName:        &orchv1.ServiceAccountList{ServiceAccounts: []*orchv1.ServiceAccount{service}},
		orchv1.ServiceAccountService_ReadServiceAccount_FullMethodName:         service,
		orchv1.ServiceAccountService_RotateServiceAccountApiKey_FullMethodName: rotated,
		orchv1.TeamService_ReadTeams_FullMethodName:                            &orchv1.TeamList{Teams: []*orchv1.Team{team}},
		orchv1.TeamService_ReadTeam_FullMethodName:                             team,
		orchv1.WorkspaceAccessService_ReadWorkspaceAccesses_FullMethodName:     &orchv1.WorkspaceAccessList{Accesses: []*orchv1.WorkspaceAccess{user, bot, group}},
		orchv1.EventService_ReadAccountEvents_FullMethodName: &orchv1.EventPage{Events: []*orchv1.ReceivedEvent{{
			Id: someID, Occurred: at(time.Minute), Event: "orch-cloud.service-account.rotated " + hostile,
			Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "orch-cloud.service-account." + someID, "orch.resource.name": hostile}},
			Related: []*orchv1.RelatedResource{{Labels: map[string]string{
				"orch.resource.id": "orch-cloud.user." + someID, "orch.resource.role": "actor", "orch.resource.name": "ada " + hostile,
			}}},
		}}, Total: 1, NextPage: proto.String("http://orch.test/api/accounts/x/events/filter/next?page-token=abc")},
		orchv1.UserService_ReadMe_FullMethodName: &orchv1.Profile{Id: someID, ActorId: someID, Type: "user", Handle: "ada", Email: proto.String("ada@example.com")},
		orchv1.UserService_ReadUserApiKeys_FullMethodName: &orchv1.ApiKeyList{ApiKeys: []*orchv1.ApiKey{
			{Id: someID, Name: "laptop " + hostile, Created: at(time.Hour), Expiration: at(-time.Hour)},
		}},
		orchv1.UserService_CreateUserApiKey_FullMethodName: &orchv1.ApiKey{Id: someID, Name: "new", Created: at(0), Key: proto.String("onu_shown_once")},
	}
}

// accountCases are the pages of the account, and the reader's own sessions and keys.
func accountCases() []pageCase {
	long := accountAnswers()
	long[orchv1.UserService_CreateAccountMembership_FullMethodName] = rpc.Detail(409, "This e-mail address cannot be added.")
	form := func(action string, fields ...string) url.Values {
		values := url.Values{"action": {action}}
		for i := 0; i+1 < len(fields); i += 2 {
			values.Set(fields[i], fields[i+1])
		}
		return values
	}
	cases := []pageCase{
		{name: "account", path: "/account"},
		{name: "account-refused", path: "/account", status: 422, form: form("account-edit", "name", hostile, "handle", "Not a handle", "enforce_webhook_authentication", "yes")},
		{name: "account-workspace-delete", path: "/account", form: form("workspace-delete", "id", someID, "name", hostile)},
		{name: "account-access", path: "/account/access"},
		{name: "account-access-revoke", path: "/account/access", form: form("access-revoke", "kind", "user", "id", someID, "name", hostile)},
		{name: "account-access-nobody", path: "/account/access", status: 422, form: form("access-grant", "actor", "weather x")},
		{name: "account-members", path: "/account/members"},
		{name: "account-member-taken", path: "/account/members", status: 409, answers: long, form: form("member-create", "email", "ada@example.com", "first_name", hostile)},
		{name: "account-member-created", path: "/account/members", form: form("member-create", "email", "ada@example.com")},
		{name: "account-member", path: "/account/members/member/" + someID},
		{name: "account-member-unknown", path: "/account/members/member/" + access.WorkspaceOwner, status: 404},
		{name: "account-member-remove", path: "/account/members/member/" + someID, form: form("member-remove")},
		{name: "account-service-accounts", path: "/account/service-accounts"},
		{name: "account-service-account", path: "/account/service-accounts/service-account/" + someID},
		{name: "account-service-account-rotated", path: "/account/service-accounts/service-account/" + someID, form: form("service-account-rotate", "overlap", "3600")},
		{name: "account-teams", path: "/account/teams"},
		{name: "account-team", path: "/account/teams/team/" + someID},
		{name: "account-team-delete", path: "/account/teams/team/" + someID, form: form("team-delete")},
		{name: "account-roles", path: "/account/roles"},
		{name: "account-role", path: "/account/roles/role/" + someID},
		{name: "account-addresses", path: "/account/addresses"},
		{name: "account-addresses-saved", path: "/account/addresses", status: 303, form: form("addresses-save", "entries", "192.0.2.0/24 office\r\n\r\n#198.51.100.1")},
		{name: "account-audit", path: "/account/audit"},
		{name: "account-audit-bad-page", path: "/account/audit?page=x", status: 400},
		{name: "sessions", path: "/sessions"},
		{name: "sessions-key", path: "/sessions", form: form("key-create", "name", "new", "days", "30")},
		{name: "sessions-key-delete", path: "/sessions", form: form("key-delete", "id", someID, "name", hostile)},
		{name: "sessions-unknown", path: "/sessions", status: 404, form: form("session-end", "id", "x")},
	}
	service := accountAnswers()
	service[orchv1.UserService_ReadMe_FullMethodName] = &orchv1.Profile{Id: someID, Type: "bot", Handle: "ci"}
	for _, action := range []string{"key-create", "key-delete"} {
		cases = append(cases, pageCase{
			name: "sessions-" + action + "-service", path: "/sessions", status: 403, answers: service, form: form(action, "id", someID, "name", "x", "confirm", "yes"),
		})
	}
	all := accountAnswers()
	for i := range cases {
		if cases[i].answers == nil {
			cases[i].answers = maps.Clone(all)
		}
		cases[i].keys = true
	}
	return cases
}
