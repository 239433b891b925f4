package standalone_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

// TestReadersDoNotSeeAddressesOfWebhooks: the address of a webhook is a password that creates events. Roles that only
// read get it masked in each response and on the dashboard.
func TestReadersDoNotSeeAddressesOfWebhooks(t *testing.T) {
	t.Parallel()
	for _, vocabulary := range []string{"orch", "prefect"} {
		t.Run(vocabulary, func(t *testing.T) {
			t.Parallel()
			h := startHosted(t, vocabulary)
			developer := h.member("developer", access.WorkspaceDeveloper)
			hook := h.must(developer, 201, "POST", "/webhooks/", fmt.Sprintf(
				`{"name": "deploys", "template": "{\"event\": \"e\", \"resource\": {\"%s.resource.id\": \"r\"}}"}`, vocabulary))
			id, slug := at(hook, "id"), at(hook, "slug")
			require.NotEmpty(t, slug)
			post := h.send("POST", at(hook, "url"), "{}", "Referer", at(hook, "url"))
			require.Equal(t, 204, post.status, post.body)
			require.Eventually(t, func() bool {
				return strings.Contains(h.do(developer, "GET", "/webhooks/"+id+"/deliveries", "").body, `"status":204`)
			},
				time.Minute, 10*time.Millisecond)

			role := func(name string, scopes string) string {
				made := h.must(h.owner, 201, "POST", accountPath+"/workspace_roles/", fmt.Sprintf(`{"name": %q, "scopes": [%s]}`, name, scopes))
				return h.member(strings.ReplaceAll(name, " ", "-"), at(made, "id"))
			}
			for _, c := range []struct {
				name, key string
				may       bool
			}{
				{"viewer", h.member("viewer", access.WorkspaceViewer), false},
				{"runner", h.member("runner", access.WorkspaceRunner), false},
				{"a role that sees webhooks", role("sees webhooks", `"see_webhooks", "see_events"`), false},
				{"a role that reads addresses", role("reads addresses", `"see_webhooks", "read_webhook_addresses"`), true},
				{"a role that manages webhooks", role("manages webhooks", `"see_webhooks", "manage_webhooks"`), true},
				{"developer", developer, true},
				{"owner", h.owner, true},
			} {
				t.Run(c.name, func(t *testing.T) {
					for _, way := range []struct{ method, path, body string }{
						{"GET", "/webhooks/" + id, ""},
						{"GET", "/webhooks/", ""},
						{"GET", "/webhooks/?name=deploys", ""},
						{"POST", "/webhooks/filter", `{}`},
					} {
						t.Run(way.method, func(t *testing.T) {
							got := h.do(c.key, way.method, way.path, way.body)
							require.Equal(t, 200, got.status, "%s: %s", c.name, got.body)
							require.Equal(t, c.may, strings.Contains(got.body, `"slug":"`+slug), "%s, %s %s: %s", c.name, way.method, way.path, got.body)
							require.Equal(t, c.may, strings.Contains(got.body, "/hooks/"+slug), "%s, %s %s: %s", c.name, way.method, way.path, got.body)
							require.Equal(t, !c.may, strings.Contains(got.body, "/hooks/********"), "%s, %s %s: %s", c.name, way.method, way.path, got.body)
						})
					}
					for _, path := range []string{"/webhooks/" + id + "/deliveries", "/webhooks/presets"} {
						require.NotContains(t, h.do(c.key, "GET", path, "").body, slug, "%s, %s", c.name, path)
					}
					for _, path := range []string{"/webhooks", "/webhooks/webhook/" + id, "/webhooks/webhook/" + id + "?address=show"} {
						got := h.send("GET", strings.TrimSuffix(h.root, "/api")+path, "", "Authorization", "Bearer "+c.key, "Accept", "text/html")
						require.Equal(t, 200, got.status, "%s, %s", c.name, path)
						require.Equal(t, c.may && strings.HasSuffix(path, "show"), strings.Contains(got.body, slug), "%s, %s", c.name, path)
					}
				})
			}
		})
	}
}
