package hooks_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestMethodsOfAWebhook: without a list every method of the specification is accepted; with one the others get 405 with the
// list. Handshakes are accepted always.
func TestMethodsOfAWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const all, some = `{"event": "all", "resource": {"orch.resource.id": "x"}}`, `{"event": "some", "resource": {"orch.resource.id": "x"}}`
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	w.put(slug, &orchv1.WebhookDefinition{Template: all})
	w.settle(all)
	for _, method := range methods {
		require.Equal(t, http.StatusNoContent, w.do(method, slug, "").status, method)
		require.Equal(t, "all", w.next().GetEvent())
	}
	w.put(slug, &orchv1.WebhookDefinition{
		Template: some, Methods: []orchv1.WebhookMethod{orchv1.WebhookMethod_WEBHOOK_METHOD_PUT, orchv1.WebhookMethod_WEBHOOK_METHOD_POST},
	})
	w.settle(some)
	for _, method := range methods {
		got := w.do(method, slug, "")
		if method == http.MethodPost || method == http.MethodPut {
			require.Equal(t, http.StatusNoContent, got.status, method)
			require.Equal(t, "some", w.next().GetEvent())
			continue
		}
		require.Equal(t, http.StatusMethodNotAllowed, got.status, method)
		require.Equal(t, "POST, PUT", got.header.Get("Allow"), method)
	}
	require.Equal(t, http.StatusOK, w.do(http.MethodOptions, slug, "", "WebHook-Request-Origin", "x.example").status)
}

// TestStrictTemplatesFailForMissingValues, with the place of the value; a test or a default makes them valid.
func TestStrictTemplatesFailForMissingValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const template = `{"event": "{{ body.kind|default('none') }}", "resource": {"orch.resource.id": "x{{ body.id }}"}}`
	strict := orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_STRICT
	w.put(slug, &orchv1.WebhookDefinition{Template: template, Undefined: &strict})
	w.settle(template)
	require.Equal(t, http.StatusNoContent, w.do(http.MethodPost, slug, `{"id": 1}`).status)
	require.Equal(t, "none", w.next().GetEvent())
	require.Equal(t, http.StatusBadRequest, w.do(http.MethodPost, slug, `{}`).status)
	require.Contains(t, payload(t, w.next())["error"], "'dict object' has no attribute 'id'")
}
