package standalone_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

// TestTenantsDoNotReadTheOperatorsSettings: with keys, directories, addresses and networks are for administrators of the
// server. Owners of accounts and workspaces get what web UIs need.
func TestTenantsDoNotReadTheOperatorsSettings(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	tenant := h.tenant("second")
	status := func(key, path string) string {
		got := h.send("GET", strings.TrimSuffix(h.root, "/api")+path, "", "Authorization", "Bearer "+key, "Accept", "text/html")
		require.Equal(t, 200, got.status, got.body)
		return got.body
	}
	for name, c := range map[string]struct{ key, prefix string }{
		"viewer":                      {h.member("viewer", access.WorkspaceViewer), ""},
		"developer":                   {h.member("developer", access.WorkspaceDeveloper), ""},
		"owner of the workspace":      {h.member("owner", access.WorkspaceOwner), ""},
		"owner of another account":    {tenant.key, tenant.workspacePath()},
		"administrator of an account": {h.memberWith("admin", access.AccountAdmin, access.WorkspaceOwner), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := h.do(c.key, "GET", c.prefix+"/admin/settings", "")
			require.Equal(t, 200, got.status, name)
			require.JSONEq(t, `{"server": {"analytics_enabled": false, "ui": {"show_promotional_content": false}}}`, got.body, name)
			page := strings.NewReplacer("/accounts/", "/account/", "/workspaces/", "/workspace/").Replace(c.prefix) + "/status"
			shown := status(c.key, page)
			require.Contains(t, shown, "Ready", name)
			for _, hidden := range []string{"Addresses", "Metrics", "orchestration"} {
				require.NotContains(t, shown, hidden, name)
			}
		})
	}
	all := h.do(h.owner, "GET", "/admin/settings", "")
	require.Contains(t, all.body, "ORCH_DATA_DIR")
	require.Contains(t, all.body, `"server"`)
	require.Contains(t, status(h.owner, "/status"), "Addresses")
}
