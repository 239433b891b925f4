package standalone_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// object is an answer, or a part of one.
type object = map[string]any

// TestHostedTerraformCalls replays what the Terraform provider sends to the hosted form: apply, read back, change, read
// back, destroy. The response has the text that was sent, byte for byte: the provider would see a drift otherwise.
func TestHostedTerraformCalls(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "prefect")
	// same reads an object and compares it with what was sent.
	same := func(path string, sent string) object {
		t.Helper()
		got, want := h.must(h.owner, 200, "GET", path, ""), object{}
		require.NoError(t, json.Unmarshal([]byte(sent), &want))
		for key, value := range want {
			require.Equal(t, value, got[key], "%s: %s", path, key)
		}
		return got
	}
	list := func(method, path, body string) []object {
		t.Helper()
		got := h.do(h.owner, method, path, body)
		require.Equal(t, 200, got.status, "%s: %s", path, got.body)
		var out []object
		require.NoError(t, json.Unmarshal([]byte(got.body), &out))
		return out
	}
	ok := func(method, path, body string) {
		t.Helper()
		require.Contains(t, []int{200, 204}, h.do(h.owner, method, path, body).status, "%s %s", method, path)
	}

	// data prefect_account, prefect_account
	account := h.must(h.owner, 200, "GET", accountPath+"/", "")
	for _, key := range []string{"id", "created", "updated", "name", "handle", "settings", "features", "plan_type", "sso_state", "domain_names"} {
		require.NotNil(t, account[key], key)
	}
	require.Equal(t, "enterprise", account["plan_type"])
	require.Empty(t, list("GET", accountPath+"/domains", ""))
	changed := `{"name": "Acme", "handle": "acme", "location": "Here", "link": null, "auth_expiration_seconds": 604800}`
	ok("PATCH", accountPath+"/", changed)
	same(accountPath+"/", changed)
	changed = `{"name": "Acme", "handle": "acme", "location": null, "link": "https://example.com/?a=b&c=<d>", "auth_expiration_seconds": null}`
	ok("PATCH", accountPath+"/", changed)
	same(accountPath+"/", changed)
	settings := `{"allow_public_workspaces": true, "ai_log_summaries": false, "managed_execution": true, "enforce_webhook_authentication": false}`
	ok("PATCH", accountPath+"/settings", settings)
	require.Equal(t, false, same(accountPath+"/settings", settings)["enforce_ip_allowlist"], "clients take an absent key for a missing feature")

	// data prefect_account_role, prefect_workspace_role
	roles := list("POST", accountPath+"/account_roles/filter", `{"account_roles": {"name": {"any_": ["Member"]}}}`)
	require.Len(t, roles, 1)
	member := at(roles[0], "id")
	require.Equal(t, "Member", same(accountPath+"/account_roles/"+member, `{"is_system_role": true, "account_id": null}`)["name"])
	require.Len(t, list("POST", accountPath+"/account_roles/filter", `{"account_roles": {"name": {"any_": null}}}`), 3)
	roles = list("POST", accountPath+"/workspace_roles/filter", `{"workspace_roles": {"name": {"any_": ["Developer"]}}}`)
	require.Len(t, roles, 1)
	developer := at(roles[0], "id")

	// prefect_workspace
	sent := `{"name": "staging", "description": null, "handle": "staging"}`
	workspace := h.must(h.owner, 201, "POST", accountPath+"/workspaces/", sent)
	ws := accountPath + "/workspaces/" + at(workspace, "id")
	require.NotEmpty(t, same(ws, sent)["default_workspace_role_id"])
	require.Len(t, list("POST", accountPath+"/workspaces/filter", `{"workspaces": {"handle": {"any_": ["staging"]}}}`), 1)
	require.Len(t, list("POST", accountPath+"/workspaces/filter", `{"workspaces": {"handle": {"any_": null}}}`), 2)
	sent = fmt.Sprintf(`{"name": "Staging Ü", "description": "with \"quotes\"\n", "handle": "stage", "default_workspace_role_id": %q}`, developer)
	ok("PATCH", ws, sent)
	same(ws+"/", sent)
	require.Equal(t, 409, h.do(h.owner, "POST", accountPath+"/workspaces/", `{"name": "other", "description": null, "handle": "stage"}`).status)

	// prefect_workspace_role: every change is delete and create.
	sent = fmt.Sprintf(`{"name": "editor", "description": null, "scopes": ["see_flows", "manage_blocks"], "inherited_role_id": %q}`, developer)
	role := at(h.must(h.owner, 201, "POST", accountPath+"/workspace_roles/", sent), "id")
	same(accountPath+"/workspace_roles/"+role, sent)
	sent = `{"name": "editor", "description": "d", "scopes": null, "inherited_role_id": null}`
	ok("PATCH", accountPath+"/workspace_roles/"+role, sent)
	require.Equal(t, []any{}, h.must(h.owner, 200, "GET", accountPath+"/workspace_roles/"+role, "")["scopes"])

	// prefect_service_account
	bot := h.must(h.owner, 201, "POST", accountPath+"/bots/",
		fmt.Sprintf(`{"name": "ci", "api_key_expiration": "2099-12-31T23:59:59Z", "account_role_id": %q}`, member))
	bots := accountPath + "/bots/" + at(bot, "id")
	require.True(t, strings.HasPrefix(at(bot, "api_key", "key"), "pnb_"))
	read := same(bots, `{"name": "ci", "account_role_name": "Member"}`)
	require.NotEmpty(t, read["actor_id"])
	require.Equal(t, "2099-12-31T23:59:59Z", at(read, "api_key", "expiration"))
	ok("PATCH", bots, fmt.Sprintf(`{"name": "ci2", "account_role_id": %q}`, member))
	rotated := h.must(h.owner, 201, "POST", bots+"/rotate_api_key",
		`{"api_key_expiration": "2099-12-31T23:59:59.123456Z", "old_key_expires_in_seconds": 172800}`)
	require.NotEqual(t, at(bot, "api_key", "key"), at(rotated, "api_key", "key"))
	read = same(bots, `{"name": "ci2"}`)
	require.Equal(t, "2099-12-31T23:59:59.123456Z", at(read, "api_key", "expiration"))
	require.Nil(t, read["api_key"].(object)["key"])
	require.Equal(t, 422, h.do(h.owner, "POST", bots+"/rotate_api_key", `{"old_key_expires_in_seconds": 172801}`).status)
	require.Len(t, list("POST", accountPath+"/bots/filter", `{"service_accounts": {"name": {"any_": ["ci2"]}}}`), 1)

	// prefect_workspace_access
	granted := list("POST", ws+"/bot_access/", fmt.Sprintf(`[{"workspace_role_id": %q, "bot_id": %q}]`, developer, at(bot, "id")))
	require.Len(t, granted, 1)
	accesses := ws + "/bot_access/" + at(granted[0], "id")
	same(accesses, fmt.Sprintf(`{"workspace_role_id": %q, "bot_id": %q, "workspace_id": %q, "actor_id": %q, "user_id": null}`,
		developer, at(bot, "id"), at(workspace, "id"), at(read, "actor_id")))
	again := list("POST", ws+"/bot_access/", fmt.Sprintf(`[{"workspace_role_id": %q, "bot_id": %q}]`, role, at(bot, "id")))
	require.Equal(t, at(granted[0], "id"), at(again[0], "id"), "the same id comes back")
	same(accesses, fmt.Sprintf(`{"workspace_role_id": %q}`, role))

	// prefect_team, prefect_team_access, prefect_workspace_access of a team
	sent = `{"name": "data", "description": null}`
	team := h.must(h.owner, 201, "POST", accountPath+"/teams", sent)
	teams := accountPath + "/teams/" + at(team, "id")
	require.Equal(t, []any{}, same(teams, sent)["memberships"])
	require.Equal(t, 409, h.do(h.owner, "POST", accountPath+"/teams", sent).status)
	sent = `{"name": "data2", "description": "who\nthey are"}`
	require.Equal(t, at(team, "id"), at(h.must(h.owner, 200, "PUT", teams, sent), "id"))
	same(teams, sent)
	require.Len(t, list("POST", accountPath+"/teams/filter", `{"teams": {"name": {"any_": ["data2"]}}, "limit": 200, "offset": 0}`), 1)
	require.Empty(t, list("POST", accountPath+"/teams/filter", `{"teams": {"name": {"any_": ["data2"]}}, "limit": 200, "offset": 200}`))
	membership := fmt.Sprintf(`{"members": [{"member_id": %q, "member_type": "service_account"}]}`, at(bot, "id"))
	for range 2 {
		h.must(h.owner, 200, "PUT", teams+"/members", membership)
	}
	same(teams, fmt.Sprintf(`{"name": "data2", "memberships": [{"id": %q, "type": "service_account", "member_id": %q}]}`, at(read, "actor_id"), at(bot, "id")))
	granted = list("PUT", ws+"/team_access/", fmt.Sprintf(`[{"workspace_role_id": %q, "team_id": %q}]`, developer, at(team, "id")))
	again = list("PUT", ws+"/team_access/", fmt.Sprintf(`{"workspace_role_id": %q, "team_id": %q}`, role, at(team, "id")))
	require.Equal(t, at(granted[0], "id"), at(again[0], "id"), "the same id comes back")
	again = list("POST", ws+"/team_access/filter", "")
	require.Len(t, again, 1)
	require.Equal(t, at(team, "id"), again[0]["team_id"])
	require.Equal(t, role, again[0]["workspace_role_id"])
	for _, path := range []string{ws + "/team_access/" + at(team, "id"), teams + "/members/" + at(read, "actor_id"), teams} {
		require.Equal(t, 204, h.do(h.owner, "DELETE", path, "").status, path)
		require.Equal(t, 404, h.do(h.owner, "DELETE", path, "").status, path)
	}
	require.Empty(t, list("POST", ws+"/team_access/filter", ""))
	require.Equal(t, 404, h.do(h.owner, "GET", teams, "").status)

	// prefect_webhook
	template := "{\n  \"event\": \"{{ body['a-b'] }}\",\n  \"resource\": {\"prefect.resource.id\": \"é\\u003c{{ headers.x }}\"}\n}\n\t "
	hook := func(name string, enabled bool, bound string) string {
		quoted, err := json.Marshal(template)
		require.NoError(t, err)
		return fmt.Sprintf(`{"name": %q, "description": "", "enabled": %t, "template": %s, "service_account_id": %s}`, name, enabled, quoted, bound)
	}
	sent = hook("gh", true, "null")
	webhook := at(h.must(h.owner, 201, "POST", ws+"/webhooks/", sent), "id")
	same(ws+"/webhooks/"+webhook, sent)
	sent = hook("gh2", false, fmt.Sprintf("%q", at(bot, "id")))
	ok("PUT", ws+"/webhooks/"+webhook, sent)
	same(ws+"/webhooks/"+webhook, sent)
	require.Len(t, list("GET", ws+"/webhooks/", ""), 1)
	require.Empty(t, list("GET", workspacePath+"/webhooks/", ""), "another workspace has its own")

	// prefect_user, prefect_user_api_key, prefect_account_member
	owner := "/users/00000000-0000-8000-8000-00000000000b"
	sent = `{"handle": "boss", "first_name": "A", "last_name": "B", "email": "boss@example.com"}`
	ok("PATCH", owner, sent)
	same(owner, sent)
	key := h.must(h.owner, 201, "POST", owner+"/api_keys", `{"name": "laptop"}`)
	require.True(t, strings.HasPrefix(at(key, "key"), "pnu_"))
	same(owner+"/api_keys/"+at(key, "id"), `{"name": "laptop", "expiration": null, "key": null}`)
	members := list("POST", accountPath+"/account_memberships/filter", `{"account_memberships": {"email": {"any_": ["boss@example.com"]}}}`)
	require.Len(t, members, 1)
	require.Equal(t, "Owner", members[0]["account_role_name"])
	require.Equal(t, 409, h.do(h.owner, "PATCH", accountPath+"/account_memberships/"+at(members[0], "id"),
		fmt.Sprintf(`{"account_role_id": %q}`, member)).status, "an account needs an owner")

	// destroy
	for _, path := range []string{
		ws + "/webhooks/" + webhook, accesses, accountPath + "/workspace_roles/" + role, bots, owner + "/api_keys/" + at(key, "id"), ws,
	} {
		require.Contains(t, []int{200, 204}, h.do(h.owner, "DELETE", path, "").status, path)
		require.Equal(t, 404, h.do(h.owner, "GET", path, "").status, path)
	}
}
