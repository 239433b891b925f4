package standalone_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestEventsLeaveByDestinationsWithTheirScope: a caller who may not read events can neither read them in deliveries, nor have them sent to
// an address.
func TestEventsLeaveByDestinationsWithTheirScope(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(receiver.Close)
	role := func(name, scopes string) string {
		made := h.must(h.owner, 201, "POST", accountPath+"/workspace_roles/", fmt.Sprintf(`{"name": %q, "scopes": ["see_webhooks", "manage_webhooks"%s]}`, name, scopes))
		return h.member(name, at(made, "id"))
	}
	without, with := role("without", ""), role("with", `, "see_events"`)
	settings := fmt.Sprintf(`{"name": "orders", "url": %q, "subscriptions": [{"events": ["order.*"]}]}`, receiver.URL)
	require.Equal(t, 403, h.do(without, "POST", "/v2/destinations/", settings).status)
	id := at(h.must(with, 201, "POST", "/v2/destinations/", settings), "id")
	for _, c := range []struct{ name, change string }{
		{"address", `{"url": "https://example.com"}`},
		{"subscriptions", `{"subscriptions": [{"events": ["*"]}]}`},
		{"proxy", `{"proxy": "http://127.0.0.1:1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, 403, h.do(without, "PATCH", "/v2/destinations/"+id, c.change).status)
		})
	}
	h.must(without, 204, "PATCH", "/v2/destinations/"+id, `{"description": "all orders"}`)

	h.must(h.owner, 204, "POST", "/events", fmt.Sprintf(`[{"id": %q, "occurred": %q, "event": "order.paid", "resource": {"orch.resource.id": "order.1"}, "payload": {"card": "canary-payload"}}]`,
		uuid.NewString(), time.Now().UTC().Format(time.RFC3339)))
	deliveries := "/v2/destinations/" + id + "/deliveries/filter"
	require.Eventually(t, func() bool { return strings.Contains(h.do(with, "POST", deliveries, `{}`).body, "canary-payload") }, time.Minute, 10*time.Millisecond)
	masked := h.do(without, "POST", deliveries, `{}`)
	require.Contains(t, masked.body, `"body":"***"`)
	require.NotContains(t, masked.body, "canary-payload")
	_, delivery, _ := strings.Cut(masked.body, `"id":"`)
	delivery, _, _ = strings.Cut(delivery, `"`)
	require.NotContains(t, h.do(without, "GET", "/v2/destinations/"+id+"/deliveries/"+delivery, "").body, "canary-payload")

	h.must(without, 204, "DELETE", "/v2/destinations/"+id, "")
	audit := func() string {
		return h.do(h.owner, "POST", workspacePath+"/events/filter", `{"filter": {"event": {"prefix": ["orch-cloud.destination."]}}}`).body
	}
	require.Eventually(t, func() bool { return strings.Contains(audit(), "orch-cloud.destination.deleted") }, time.Minute, 10*time.Millisecond)
	for _, action := range []string{"created", "updated"} {
		require.Contains(t, audit(), "orch-cloud.destination."+action)
	}
}
