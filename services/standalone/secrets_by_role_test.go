package standalone_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/access/accesstest"
)

// guarded are objects with secrets, and what they contain.
type guarded struct {
	// paths has the value of the variables of each path that begins so; the longest beginning counts.
	paths map[string]string
	// secrets are never in an answer; addresses and blocks only in those to callers with the scope.
	secrets           []string
	addresses, blocks string
}

// guard makes objects with secrets in the default account.
func (h *hosted) guard() guarded {
	h.t.Helper()
	ws := workspacePath
	create := func(status int, path, body string) map[string]any { return h.must(h.owner, status, "POST", path, body) }
	kind := at(create(201, ws+"/block_types/", `{"name": "Vault", "slug": "vault"}`), "id")
	schema := at(create(201, ws+"/block_schemas/", fmt.Sprintf(
		`{"block_type_id": %q, "fields": {"title": "Vault", "type": "object", "block_type_slug": "vault", "secret_fields": ["token", "deep.token"]}}`, kind)), "id")
	document := at(create(201, ws+"/block_documents/", fmt.Sprintf(
		`{"name": "mine", "block_type_id": %q, "block_schema_id": %q, "data": {"token": "canary-block", "deep": {"token": "canary-block"}}}`, kind, schema)), "id")
	hook := create(201, ws+"/webhooks/", `{"name": "w", "template": "{}", "verification": {"scheme": "github", "secrets": ["canary-signing-secret"]},
		"handshakes": ["meta"], "verify_token": "canary-verify-token"}`)
	bot := create(201, accountPath+"/bots/", `{"name": "bot"}`)
	member := create(201, accountPath+"/account_memberships/", `{"email": "guarded@example.com"}`)
	automation := at(create(201, ws+"/automations/", fmt.Sprintf(
		`{"name": "a", "trigger": {"type": "event", "posture": "Reactive", "expect": ["x"], "threshold": 1, "within": 0},
		"actions": [{"type": "call-webhook", "block_document_id": %q, "payload": "{}"}]}`, document)), "id")
	flow := at(create(201, ws+"/flows/", `{"name": "f"}`), "id")
	run := at(create(201, ws+"/flow_runs/", fmt.Sprintf(`{"flow_id": %q, "state": {"type": "PENDING"}}`, flow)), "id")
	deployment := at(create(201, ws+"/deployments/", fmt.Sprintf(`{"name": "d", "flow_id": %q, "infrastructure_document_id": %q}`, flow, document)), "id")
	none := uuid.NewString()
	return guarded{
		paths: map[string]string{
			"/accounts/{account_id}/account_memberships/": at(member, "id"), "/accounts/{account_id}/account_roles/": access.AccountMember,
			"/accounts/{account_id}/bots/": at(bot, "id"), "/accounts/{account_id}/teams/": none,
			"/accounts/{account_id}/workspace_roles/": access.WorkspaceViewer, "/accounts/{account_id}/workspaces/": strings.TrimPrefix(workspacePath, accountPath+"/workspaces/"),
			"/admin/": none, "/artifacts/": none, "/automations/": automation, "/automations/related-to/": "orch.deployment." + deployment,
			"/automations/owned-by/": "orch.deployment." + deployment, "/block_documents/": document,
			"/block_schemas/": schema, "/block_types/": kind, "/block_types/slug/": "vault", "/bot_access/": none,
			"/collections/": "aggregate-worker-metadata", "/concurrency_limits/": none, "/deployments/": deployment, "/events/": "event",
			"/flow_run_states/": none, "/flow_runs/": run, "/flows/": flow, "/saved_searches/": none, "/task_run_states/": none, "/task_runs/": none,
			"/team_access/": none, "/ui/": none, "/user_access/": none, "/users/": at(member, "user_id"), "/v2/concurrency_limits/": none,
			"/variables/": none, "/webhooks/": at(hook, "id"), "/work_pools/": "none", "/work_queues/": none,
		},
		secrets:   []string{"canary-signing-secret", "canary-verify-token", at(bot, "api_key", "key"), at(member, "api_key", "key"), h.owner},
		addresses: at(hook, "slug"), blocks: "canary-block",
	}
}

// fill replaces the variables of a route by values of guarded objects; false if the table has no row for the route.
func (g guarded) fill(r route, account string) (string, bool) {
	if !strings.Contains(strings.ReplaceAll(r.path, "{account_id}", ""), "{") {
		return r.fill(account, ""), true
	}
	best := ""
	for prefix := range maps.Keys(g.paths) {
		if strings.HasPrefix(r.path, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	return strings.ReplaceAll(r.fill(account, "\x00"), "\x00", url.PathEscape(g.paths[best])), best != ""
}

// TestSecretsByRole asks every route that reads, about objects with secrets, as every role and as a stranger: no answer has a secret, and
// block secrets and addresses of webhooks are in answers to callers with their scope alone. A route of a new kind needs a row.
func TestSecretsByRole(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	g := h.guard()
	account := strings.TrimPrefix(accountPath, "/accounts/")
	read := func(key string, scopes access.Set, name string) (shown int) {
		for _, r := range routes() {
			if r.option.GetPublic() || !access.ReadOnly(r.option.GetScope()) && r.method != http.MethodGet {
				continue
			}
			path, exists := g.fill(r, account)
			require.True(t, exists, "%s %s: the table has no object for it", r.method, r.path)
			bodies := map[bool][]string{true: {"{}", `{"include_secrets": true}`}, false: {""}}[r.method != http.MethodGet]
			for _, body := range bodies {
				for _, query := range []string{"", "?include_secrets=true"} {
					got := h.do(key, r.method, path+query, body)
					for _, secret := range g.secrets {
						require.NotContains(t, got.body, secret, "%s: %s %s", name, r.method, path)
					}
					if scopes == nil {
						require.Contains(t, []int{200, 401, 403, 404, 422}, got.status, "%s: %s %s: %s", name, r.method, path, got.body)
					}
					if !scopes.Has("read_block_secrets") {
						require.NotContains(t, got.body, g.blocks, "%s: %s %s", name, r.method, path+query)
					}
					if !scopes.Has("read_webhook_addresses") {
						require.NotContains(t, got.body, g.addresses, "%s: %s %s", name, r.method, path+query)
					}
					shown += strings.Count(got.body, g.blocks) + strings.Count(got.body, g.addresses)
				}
			}
		}
		return shown
	}
	for i, member := range accesstest.Members() {
		shown := read(h.memberWith(fmt.Sprintf("reader-%d", i), member.AccountRole, member.WorkspaceRole), member.Scopes, member.Name)
		may := member.Scopes.Has("read_block_secrets") || member.Scopes.Has("read_webhook_addresses")
		require.Equal(t, may, shown > 0, "%s: the objects are those that the routes show", member.Name)
	}
	require.Zero(t, read(h.tenant("stranger").key, nil, "a stranger"))
	require.Zero(t, read("", nil, "nobody"))
}
