package standalone_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

// TestSecretsOfBlocksTakeAScope asks for the secrets of blocks in each way that there is: whoever may only look gets them
// obfuscated, and is refused when they ask for more.
func TestSecretsOfBlocksTakeAScope(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	viewer := h.member("viewer", access.WorkspaceViewer)
	runner := h.member("runner", access.WorkspaceRunner)
	developer := h.member("developer", access.WorkspaceDeveloper)
	worker := h.member("worker", access.WorkspaceWorker)

	ws := workspacePath
	kind := at(h.must(h.owner, 201, "POST", ws+"/block_types/", `{"name": "Vault", "slug": "vault"}`), "id")
	schema := at(h.must(h.owner, 201, "POST", ws+"/block_schemas/", fmt.Sprintf(
		`{"block_type_id": %q, "fields": {"title": "Vault", "type": "object", "block_type_slug": "vault", "secret_fields": ["token"], "properties": {"token": {"type": "string"}}}}`, kind)), "id")
	id := at(h.must(h.owner, 201, "POST", ws+"/block_documents/", fmt.Sprintf(
		`{"name": "mine", "block_type_id": %q, "block_schema_id": %q, "data": {"token": "hush-hush"}}`, kind, schema)), "id")

	for _, way := range []struct{ method, path, plain, secret string }{
		{"GET", "/block_documents/" + id, "", "?include_secrets=true"},
		{"GET", "/block_types/slug/vault/block_documents", "", "?include_secrets=1"},
		{"GET", "/block_types/slug/vault/block_documents/name/mine", "", "?include_secrets=yes"},
		{"POST", "/block_documents/filter", `{"include_secrets": false}`, `{"include_secrets": true}`},
	} {
		ask := func(key string, secret bool) reply {
			if way.method == "POST" {
				return h.do(key, "POST", ws+way.path, map[bool]string{false: way.plain, true: way.secret}[secret])
			}
			return h.do(key, "GET", ws+way.path+map[bool]string{true: way.secret}[secret], "")
		}
		for _, key := range []string{viewer, runner, developer, worker, h.owner} {
			got := ask(key, false)
			require.Equal(t, 200, got.status, got.body)
			require.Contains(t, got.body, `"token":"********"`, way.path)
		}
		for _, key := range []string{viewer, runner} {
			got := ask(key, true)
			require.Equal(t, 403, got.status, "%s %s", way.path, got.body)
			require.NotContains(t, got.body, "hush")
		}
		for _, key := range []string{developer, worker, h.owner} {
			got := ask(key, true)
			require.Equal(t, 200, got.status, got.body)
			require.Contains(t, got.body, `"token":"hush-hush"`, way.path)
		}
	}
}
