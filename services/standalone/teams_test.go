package standalone_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

// TestTeamsGiveTheirMembersTheirRoles: what a team may do its members may, from the next request on and no longer than
// they are its members.
func TestTeamsGiveTheirMembersTheirRoles(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	stranger := h.tenant("stranger")
	made := h.must(h.owner, 201, "POST", accountPath+"/account_memberships/", `{"email": "ada@example.com"}`)
	user, actor, ada := at(made, "user_id"), at(made, "actor_id"), at(made, "api_key", "key")
	bot := h.must(h.owner, 201, "POST", accountPath+"/bots/", `{"name": "ci"}`)
	key := at(bot, "api_key", "key")
	role := at(h.must(h.owner, 201, "POST", accountPath+"/workspace_roles/", `{"name": "variables", "scopes": ["see_variables"]}`), "id")
	team := func(name, role string) string {
		id := at(h.must(h.owner, 201, "POST", accountPath+"/teams", fmt.Sprintf(`{"name": %q}`, name)), "id")
		h.must(h.owner, 200, "PUT", "/team_access/", fmt.Sprintf(`[{"workspace_role_id": %q, "team_id": %q}]`, role, id))
		return accountPath + "/teams/" + id
	}
	runners, readers := team("runners", access.WorkspaceRunner), team("readers", role)
	sees := func(key, what string) int { return h.do(key, "POST", "/"+what+"/filter", "").status }
	workspaces := func(key string) string { return h.do(key, "GET", "/me/workspaces", "").body }
	require.Equal(t, 403, sees(ada, "flows"))
	require.Equal(t, "[]", workspaces(ada))

	h.must(h.owner, 200, "PUT", readers+"/members", fmt.Sprintf(
		`{"members": [{"member_id": %q, "member_type": "user"}, {"member_id": %q, "member_type": "service_account"}]}`, user, at(bot, "id")))
	require.Equal(t, 200, sees(ada, "variables"))
	require.Equal(t, 200, sees(key, "variables"))
	require.Equal(t, 403, sees(ada, "flows"), "the team's role allows no more")
	require.Contains(t, workspaces(ada), `"workspace_handle":"default"`)
	h.must(h.owner, 200, "PUT", runners+"/members", fmt.Sprintf(`{"members": [{"member_id": %q, "member_type": "user"}]}`, user))
	require.Equal(t, 200, sees(ada, "flows"), "two teams")
	require.Equal(t, 200, sees(ada, "variables"))
	require.Equal(t, 403, h.do(ada, "POST", "/variables/", `{"name": "a", "value": 1}`).status)
	h.must(h.owner, 200, "POST", "/user_access/", fmt.Sprintf(`{"workspace_role_id": %q, "user_id": %q}`, access.WorkspaceDeveloper, user))
	require.Equal(t, 201, h.do(ada, "POST", "/variables/", `{"name": "a", "value": 1}`).status, "the own role beside them")

	for _, id := range []string{user, runners[len(accountPath+"/teams/"):]} {
		require.Contains(t, h.do(h.owner, "POST", "/workspace_access/filter", "").body, id, "users and teams")
	}
	require.Equal(t, "[]", h.do(stranger.key, "POST", stranger.workspacePath()+"/workspace_access/filter", "").body, "of another account")

	require.Equal(t, 403, h.do(ada, "PUT", runners+"/members", `{"members": []}`).status, "members do not choose members")
	require.Equal(t, 403, h.do(ada, "POST", accountPath+"/teams/filter", "").status)
	for name, members := range map[string]string{
		"another account's user": fmt.Sprintf(`[{"member_id": %q, "member_type": "user"}]`, stranger.user),
		"a user as a program":    fmt.Sprintf(`[{"member_id": %q, "member_type": "service_account"}]`, user),
		"a program as a user":    fmt.Sprintf(`[{"member_id": %q, "member_type": "user"}]`, at(bot, "id")),
		"another type":           fmt.Sprintf(`[{"member_id": %q, "member_type": "team"}]`, at(bot, "id")),
		"no type":                fmt.Sprintf(`[{"member_id": %q}]`, at(bot, "id")),
	} {
		require.Equal(t, 422, h.do(h.owner, "PUT", runners+"/members", `{"members": `+members+`}`).status, name)
	}
	require.Equal(t, 422, h.do(stranger.key, "PUT", stranger.workspacePath()+"/team_access/", fmt.Sprintf(
		`[{"workspace_role_id": %q, "team_id": %q}]`, access.WorkspaceViewer, runners[len(accountPath+"/teams/"):])).status, "another account's team")
	require.Equal(t, 404, h.do(stranger.key, "GET", stranger.accountPath()+"/teams/"+runners[len(accountPath+"/teams/"):], "").status)

	h.must(h.owner, 204, "DELETE", readers+"/members/"+at(bot, "actor_id"), "")
	require.Equal(t, 403, sees(key, "variables"), "not a member any more")
	revoked := h.do(h.owner, "POST", "/user_access/", fmt.Sprintf(`[{"workspace_role_id": %q, "user_id": %q}]`, role, user))
	require.Equal(t, 200, revoked.status)
	h.must(h.owner, 204, "DELETE", runners, "")
	require.Equal(t, 403, sees(ada, "flows"), "the team is gone")
	require.Equal(t, "[]", h.do(h.owner, "POST", "/team_access/filter", `{"offset": 1}`).body, "one of two is left")
	h.must(h.owner, 204, "DELETE", accountPath+"/account_memberships/"+at(made, "id"), "")
	require.Equal(t, 403, sees(ada, "variables"))
	require.NotContains(t, h.do(h.owner, "GET", readers, "").body, actor, "who leaves the account leaves its teams")
}
