package standalone_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/access/accesstest"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/openapi"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// route is one binding of the contract.
type route struct {
	method, path string
	option       *orchv1.RestMethod
}

// routes lists all bindings from the descriptors.
func routes() []route {
	var list []route
	for _, sd := range openapi.Services() {
		for i := range sd.Methods().Len() {
			md := sd.Methods().Get(i)
			rule, _ := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
			if rule == nil {
				continue
			}
			for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
				one := route{option: access.Option(md)}
				switch p := r.GetPattern().(type) {
				case *annotations.HttpRule_Get:
					one.method, one.path = "GET", p.Get
				case *annotations.HttpRule_Post:
					one.method, one.path = "POST", p.Post
				case *annotations.HttpRule_Put:
					one.method, one.path = "PUT", p.Put
				case *annotations.HttpRule_Patch:
					one.method, one.path = "PATCH", p.Patch
				case *annotations.HttpRule_Delete:
					one.method, one.path = "DELETE", p.Delete
				}
				list = append(list, one)
			}
		}
	}
	return list
}

var variable = regexp.MustCompile(`\{[^}]*\}`)

// fill replaces the path's variables: the account by one, the rest by values of another.
func (r route) fill(account, rest string) string {
	return variable.ReplaceAllStringFunc(r.path, func(name string) string {
		if name == "{account_id}" {
			return account
		}
		return rest
	})
}

// TestRoutesByCredential asks every route with every kind of credential: 401 without a valid key, 404 for what is another
// tenant's, 403 for what the caller's role does not allow, and never any of them where it does.
func TestRoutesByCredential(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	stranger := h.tenant("stranger")
	viewer := h.member("viewer", access.WorkspaceViewer)
	wrong, _ := auth.NewKey("onu_")
	bot := h.must(h.owner, 201, "POST", accountPath+"/bots/", `{"name": "expiring"}`)
	expired := at(bot, "api_key", "key")
	h.must(h.owner, 201, "POST", accountPath+"/bots/"+at(bot, "id")+"/rotate_api_key", `{"old_key_expires_in_seconds": 1}`)
	require.Eventually(t, func() bool { return h.do(expired, "GET", "/me/", "").status == 401 }, time.Minute, 20*time.Millisecond)
	viewerRole, _ := access.WorkspaceRole(access.WorkspaceViewer)
	memberRole, _ := access.AccountRole(access.AccountMember)

	const someID = "0e2d0a3c-31f1-4e58-9c3c-6b8f0f7f7d11"
	own := strings.TrimPrefix(accountPath, "/accounts/")
	for _, r := range routes() {
		if r.option.GetPublic() {
			continue
		}
		name := r.method + " " + r.path
		path := r.fill(own, someID)
		status := func(key, path string) int { return h.do(key, r.method, path, "{}").status }
		for kind, key := range map[string]string{
			"no key": "", "wrong key": wrong, "expired key": expired, "malformed key": "user:password", "almost the key": h.owner[:len(h.owner)-1] + "!",
		} {
			require.Equal(t, 401, status(key, path), "%s: %s", name, kind)
		}
		switch r.option.GetRealm() {
		case orchv1.Realm_REALM_ACCOUNT:
			require.Equal(t, 404, status(stranger.key, path), "%s: another account's key", name)
			require.Equal(t, 404, status(h.owner, r.fill(someID, someID)), "%s: no such account", name)
			if !memberRole.Scopes.Has(r.option.GetScope()) {
				require.Equal(t, 403, status(viewer, path), "%s: a viewer's key", name)
				continue
			}
		case orchv1.Realm_REALM_SELF:
			if strings.Contains(r.path, "{") {
				// The body is read before the user is looked for.
				require.Contains(t, []int{404, 422}, status(stranger.key, r.fill(own, "00000000-0000-8000-8000-00000000000b")), "%s: another user's key", name)
			}
		case orchv1.Realm_REALM_SERVER:
			require.Equal(t, 403, status(stranger.key, path), "%s: another account's key", name)
			require.Equal(t, 403, status(viewer, path), "%s: a viewer's key", name)
			continue
		default:
			require.Equal(t, 403, status(stranger.key, path), "%s: another account's key, the path names no workspace", name)
			require.Equal(t, 404, status(stranger.key, workspacePath+path), "%s: another account's key", name)
			require.Equal(t, 404, status(stranger.key, stranger.accountPath()+"/workspaces/"+strings.TrimPrefix(workspacePath, accountPath+"/workspaces/")+path),
				"%s: another account's workspace below the own account", name)
			require.Equal(t, 404, status(h.owner, accountPath+"/workspaces/"+someID+path), "%s: no such workspace", name)
			if !viewerRole.Scopes.Has(r.option.GetScope()) {
				require.Equal(t, 403, status(viewer, path), "%s: a viewer's key", name)
				require.Equal(t, 403, status(viewer, workspacePath+path), "%s: a viewer's key", name)
				continue
			}
			require.NotContains(t, []int{401, 403}, status(viewer, workspacePath+path), "%s: a viewer's key", name)
		}
		require.NotContains(t, []int{401, 403}, status(viewer, path), "%s: a viewer's key", name)
	}
	for _, path := range []string{"/nowhere", workspacePath + "/nowhere", "/accounts", "/openapi.json"} {
		require.Equal(t, 401, h.do("", "GET", path, "").status, path)
	}
	require.Equal(t, 200, h.do(viewer, "GET", "/openapi.json", "").status)
	for _, path := range []string{"/health", "/ready", "/version", "/hello"} {
		require.Equal(t, 200, h.do("", "GET", path, "").status, path)
	}
}

// TestRoutesByRole asks every route with a key of each role: 403 for exactly what the role's scopes do not allow. The table of roles is
// that of the dashboard's test. Allowed routes of an account, a user or the server are not asked: an owner would delete the account.
func TestRoutesByRole(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	const someID = "0e2d0a3c-31f1-4e58-9c3c-6b8f0f7f7d11"
	own := strings.TrimPrefix(accountPath, "/accounts/")
	for i, member := range accesstest.Members() {
		key := h.memberWith(fmt.Sprintf("role-%d", i), member.AccountRole, member.WorkspaceRole)
		refused := 0
		for _, r := range routes() {
			if r.option.GetPublic() {
				continue
			}
			may := member.Scopes.Has(r.option.GetScope())
			if may && r.option.GetRealm() != orchv1.Realm_REALM_UNSPECIFIED {
				continue
			}
			got := h.do(key, r.method, r.fill(own, someID), "{}").status
			require.NotEqual(t, 401, got, "%s: %s %s", member.Name, r.method, r.path)
			require.Equal(t, !may, got == 403, "%s: %s %s: %d", member.Name, r.method, r.path, got)
			if !may {
				refused++
			}
		}
		require.Positive(t, refused, "%s: every role lacks the scopes of the server", member.Name)
	}
}

// TestRevokedKeysDieAtOnce covers every way of taking a key's power away.
func TestRevokedKeysDieAtOnce(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	const ask = "/flows/filter"
	dies := func(key string, want int, what string) {
		t.Helper()
		start := time.Now()
		require.Eventually(t, func() bool { return h.do(key, "POST", ask, "").status == want }, time.Minute, time.Millisecond, what)
		t.Logf("%s: %s", what, time.Since(start))
	}
	newBot := func(name string) (id, key string) {
		bot := h.must(h.owner, 201, "POST", accountPath+"/bots/", fmt.Sprintf(`{"name": %q}`, name))
		require.Equal(t, 403, h.do(at(bot, "api_key", "key"), "POST", ask, "").status, "no role yet")
		h.must(h.owner, 200, "POST", "/bot_access/", fmt.Sprintf(`{"workspace_role_id": %q, "bot_id": %q}`, access.WorkspaceViewer, at(bot, "id")))
		require.Equal(t, 200, h.do(at(bot, "api_key", "key"), "POST", ask, "").status, "a new key works at once")
		return at(bot, "id"), at(bot, "api_key", "key")
	}
	id, key := newBot("deleted")
	h.must(h.owner, 204, "DELETE", accountPath+"/bots/"+id, "")
	dies(key, 401, "deleted service account")
	id, key = newBot("rotated")
	h.must(h.owner, 201, "POST", accountPath+"/bots/"+id+"/rotate_api_key", `{}`)
	dies(key, 401, "rotated key")

	owner := "/users/00000000-0000-8000-8000-00000000000b"
	made := h.must(h.owner, 201, "POST", owner+"/api_keys", `{"name": "second"}`)
	second := at(made, "key")
	require.Equal(t, 200, h.do(second, "POST", ask, "").status)
	require.NotContains(t, h.do(h.owner, "GET", owner+"/api_keys/"+at(made, "id"), "").body, second)
	h.must(h.owner, 204, "DELETE", owner+"/api_keys/"+at(made, "id"), "")
	dies(second, 401, "deleted key")

	role := h.must(h.owner, 201, "POST", accountPath+"/workspace_roles/", `{"name": "custom", "scopes": ["see_flows"]}`)
	key = h.member("custom", at(role, "id"))
	require.Equal(t, 200, h.do(key, "POST", ask, "").status)
	require.Equal(t, 403, h.do(key, "POST", "/variables/filter", "").status)
	h.must(h.owner, 204, "PATCH", accountPath+"/workspace_roles/"+at(role, "id"), `{"name": "custom", "scopes": []}`)
	dies(key, 403, "changed role")
}
