package standalone_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

// TestDeletedAccountsLeaveNothing: keys are dead and addresses of webhooks unknown when the answer arrives, and nothing
// of another account is touched.
func TestDeletedAccountsLeaveNothing(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	gone, stays := h.tenant("gone"), h.tenant("stays")
	h.furnish(gone, "gone")
	h.furnish(stays, "stays")
	admin := h.must(gone.key, 201, "POST", gone.accountPath()+"/account_memberships/",
		fmt.Sprintf(`{"email": "admin@example.com", "account_role_id": %q}`, access.AccountAdmin))
	bot := h.must(gone.key, 201, "POST", gone.accountPath()+"/bots/", fmt.Sprintf(`{"name": "ci", "account_role_id": %q}`, access.AccountOwner))
	program := at(bot, "api_key", "key")
	hook := h.must(gone.key, 201, "POST", gone.workspacePath()+"/webhooks/", `{"name": "open", "template": "{\"event\": \"e\", \"resource\": {\"orch.resource.id\": \"r\"}}"}`)
	post := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(h.root, "/api")+"/hooks/"+at(hook, "slug"), strings.NewReader("{}"))
		require.NoError(t, err)
		response, err := h.http.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, 204, post())
	require.Equal(t, 200, h.do(program, "POST", gone.workspacePath()+"/flows/filter", "").status)
	before := h.view(stays)

	require.Equal(t, 403, h.do(at(admin, "api_key", "key"), "DELETE", gone.accountPath(), "").status, "owners alone")
	require.Equal(t, 404, h.do(stays.key, "DELETE", gone.accountPath(), "").status)
	require.Equal(t, 409, h.do(h.owner, "DELETE", accountPath, "").status, "what addresses without ids mean")
	h.must(gone.key, 204, "DELETE", gone.accountPath()+"/", "")
	for _, key := range []string{gone.key, program, at(admin, "api_key", "key")} {
		for _, path := range []string{"/me/", gone.accountPath() + "/", gone.workspacePath() + "/flows/" + gone.account} {
			require.Equal(t, 401, h.do(key, "GET", path, "").status, path)
		}
	}
	require.Equal(t, 404, post())
	for _, path := range []string{gone.accountPath() + "/", gone.workspacePath() + "/webhooks/"} {
		require.Equal(t, 404, h.do(h.owner, "GET", path, "").status, "%s: also for who made it", path)
	}
	require.NotContains(t, h.do(h.owner, "GET", "/me/workspaces", "").body, gone.account)
	require.Equal(t, 200, h.do(h.owner, "GET", "/me/", "").status, "administrators of the server stay, whatever they were members of")
	for path, want := range before {
		require.Equal(t, want, h.view(stays)[path], path)
	}
	// Names are free again.
	again := h.tenant("gone")
	require.NotEqual(t, gone.account, again.account)
	require.Equal(t, "[]", h.do(again.key, "POST", again.workspacePath()+"/webhooks/filter", "").body)
}
