package standalone_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

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
		t.Run(way.method, func(t *testing.T) {
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
		})
	}
}

// editorOfBlocks returns the key of a member who may change blocks but not read their secrets.
func (h *hosted) editorOfBlocks() string {
	role := at(h.must(h.owner, 201, "POST", accountPath+"/workspace_roles/", `{"name": "block editor", "scopes": ["manage_blocks", "see_blocks"]}`), "id")
	return h.member("editor", role)
}

// vault makes a block type and returns a function that makes its schemas: by version, with these secret fields.
func (h *hosted) vault() (kind string, schema func(key, version string, secret ...string) string) {
	kind = at(h.must(h.owner, 201, "POST", "/block_types/", `{"name": "Vault", "slug": "vault"}`), "id")
	return kind, func(key, version string, secret ...string) string {
		h.t.Helper()
		fields, err := json.Marshal(append([]string{}, secret...))
		require.NoError(h.t, err)
		return at(h.must(key, 201, "POST", "/block_schemas/", fmt.Sprintf(
			`{"block_type_id": %q, "version": %q, "fields": {"title": "Vault %s", "type": "object", "block_type_slug": "vault", "secret_fields": %s}}`,
			kind, version, version, fields)), "id")
	}
}

// TestAnotherSchemaRevealsNoSecret: values that were stored as secrets stay secret for readers and in events, whatever a
// later schema says, until they are sent anew.
func TestAnotherSchemaRevealsNoSecret(t *testing.T) {
	t.Parallel()
	for _, vocabulary := range []string{"orch", "prefect"} {
		t.Run(vocabulary, func(t *testing.T) {
			t.Parallel()
			h := startHosted(t, vocabulary)
			editor, viewer, developer := h.editorOfBlocks(), h.member("viewer", access.WorkspaceViewer), h.member("developer", access.WorkspaceDeveloper)
			kind, schema := h.vault()
			marked := schema(developer, "1", "password", "nested.key", "list.key", "everything.*", "text.*")
			plain := schema(editor, "2")
			const data = `{"password": "canary-1", "nested": {"key": "canary-2", "user": "u"}, "list": [{"key": "canary-3"}, {"key": "canary-4"}],
				"everything": {"a": {"b": "canary-5"}}, "text": "canary-6", "user": "plain"}`
			document := func(name string) string {
				return at(h.must(developer, 201, "POST", "/block_documents/", fmt.Sprintf(
					`{"name": %q, "block_type_id": %q, "block_schema_id": %q, "data": %s}`, name, kind, marked, data)), "id")
			}
			for name, change := range map[string]string{
				"schema":    fmt.Sprintf(`{"block_schema_id": %q}`, plain),
				"merge":     fmt.Sprintf(`{"block_schema_id": %q, "data": {"user": "other", "nested": {"key": "********"}}}`, plain),
				"replace":   fmt.Sprintf(`{"block_schema_id": %q, "data": {"password": "********", "list": [{"key": "new"}, {"key": "********"}]}, "merge_existing_data": false}`, plain),
				"container": fmt.Sprintf(`{"block_schema_id": %q, "data": {"everything": {"a": {"b": "********", "c": 1}, "b": 2}, "password": "********"}, "merge_existing_data": false}`, plain),
			} {
				id := document(name)
				got := h.do(editor, "PATCH", "/block_documents/"+id, change)
				require.Equal(t, 204, got.status, got.body)
				got = h.do(editor, "PATCH", "/block_documents/"+id, `{"data": {"user": "third"}}`)
				require.Equal(t, 204, got.status, got.body)
				for _, key := range []string{editor, viewer, developer} {
					require.NotContains(t, h.do(key, "GET", "/block_documents/"+id, "").body, "canary", name)
					require.NotContains(t, h.do(key, "POST", "/block_documents/filter", `{}`).body, "canary", name)
				}
				require.Contains(t, h.do(developer, "GET", "/block_documents/"+id+"?include_secrets=true", "").body, "canary", name)
				h.must(h.owner, 204, "DELETE", "/block_documents/"+id, "")
			}
			events := func(name string) reply {
				return h.do(viewer, "POST", "/events/filter", fmt.Sprintf(`{"limit": 50, "filter": {"event": {"prefix": [%q]}}}`, vocabulary+name))
			}
			require.Eventually(t, func() bool { return h.decode(events(".block-document.deleted"))["total"] == 4. }, time.Minute, 10*time.Millisecond)
			require.NotContains(t, events(".block-document.").body, "canary")

			id := document("sent-anew")
			h.must(editor, 204, "PATCH", "/block_documents/"+id, fmt.Sprintf(`{"block_schema_id": %q, "data": {"password": "public"}}`, plain))
			got := h.do(viewer, "GET", "/block_documents/"+id, "")
			require.Contains(t, got.body, `"password":"public"`)
			require.NotContains(t, got.body, "canary", "the other secrets stay")

			id = document("published")
			h.must(developer, 204, "PATCH", "/block_documents/"+id, fmt.Sprintf(`{"block_schema_id": %q}`, plain))
			require.Contains(t, h.do(viewer, "GET", "/block_documents/"+id, "").body, "canary-1", "who may read secrets may publish them")
		})
	}
}

// TestAnotherDestinationNeedsTheSecrets: whoever may not read the secrets of a block cannot have them sent elsewhere.
func TestAnotherDestinationNeedsTheSecrets(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	editor := h.editorOfBlocks()
	kind := at(h.must(h.owner, 200, "GET", "/block_types/slug/webhook", ""), "id")
	var schemas []map[string]any
	require.NoError(t, json.Unmarshal([]byte(h.do(h.owner, "POST", "/block_schemas/filter",
		fmt.Sprintf(`{"block_schemas": {"block_type_id": {"any_": [%q]}}}`, kind)).body), &schemas))
	webhook := at(h.must(h.owner, 201, "POST", "/block_documents/", fmt.Sprintf(
		`{"name": "hook", "block_type_id": %q, "block_schema_id": %q, "data": {"method": "POST", "url": "https://a.example", "headers": {"Authorization": "canary"}}}`,
		kind, at(schemas[0], "id"))), "id")
	for _, c := range []struct {
		name, key, change string
		status            int
	}{
		{"another method", editor, `{"data": {"method": "PUT"}}`, 204},
		{"another url", editor, `{"data": {"url": "https://evil.example"}}`, 422},
		{"another url with the secrets as they are shown", editor, `{"data": {"url": "https://evil.example", "headers": {"Authorization": "********"}}}`, 422},
		{"another url that replaces all but the secrets", editor, `{"data": {"url": "https://evil.example", "headers": {"Authorization": "********"}}, "merge_existing_data": false}`, 422},
		{"the url as it is shown", editor, `{"data": {"url": "********", "method": "POST"}}`, 204},
		{"another url with other secrets", editor, `{"data": {"url": "https://b.example", "headers": {"Authorization": "new"}}}`, 204},
		{"another url without secrets", editor, `{"data": {"url": "https://c.example"}, "merge_existing_data": false}`, 204},
		{"secrets again", h.owner, `{"data": {"headers": {"Authorization": "canary"}}}`, 204},
		{"another url by somebody who may read the secrets", h.owner, `{"data": {"url": "https://d.example"}}`, 204},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := h.do(c.key, "PATCH", "/block_documents/"+webhook, c.change)
			require.Equal(t, c.status, got.status, "%s: %s", c.name, got.body)
			if c.status == 422 {
				require.Contains(t, got.body, "headers", c.name)
				require.NotContains(t, got.body, "canary", c.name)
				require.NotContains(t, h.do(h.owner, "GET", "/block_documents/"+webhook+"?include_secrets=true", "").body, "evil", c.name)
			}
		})
	}
}
