package hooks_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks"
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
	require.Equal(t, http.StatusMethodNotAllowed, w.do(http.MethodGet, slug, "").status)
	require.Equal(t, "orch-cloud.webhook.failed", w.next().GetEvent(), "one a minute")
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

	// A header that announces a handshake lifts no restriction of another request.
	w.put(slug, &orchv1.WebhookDefinition{Template: some, Methods: []orchv1.WebhookMethod{orchv1.WebhookMethod_WEBHOOK_METHOD_PUT}})
	require.Eventually(t, func() bool {
		return w.do(http.MethodPost, slug, "[]", "Aeg-Event-Type", "SubscriptionValidation").status == http.StatusMethodNotAllowed
	}, waitTime, tick)
}

// TestRefusedMethodsAreRefusals: they are logged with their reason and without a body, and are counted, also where the sender
// sees a 400. So a replay cannot turn a request without key or signature into an event.
func TestRefusedMethodsAreRefusals(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		ring, keyed := withKeys(t)
		w := newWorld(t, keyed, func(c *hooks.Config, _ *hooks.Deps) { c.UniformErrors = strict })
		log := w.journal()
		definition := signed(t, ring, static)
		definition.Methods = []orchv1.WebhookMethod{orchv1.WebhookMethod_WEBHOOK_METHOD_POST}
		w.put(slug, definition)
		want := http.StatusMethodNotAllowed
		if strict {
			want = http.StatusBadRequest
		}
		require.Eventually(t, func() bool { return w.do(http.MethodPut, slug, "from a stranger").status == want }, waitTime, tick)
		d := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetStatus() == int64(want) })
		require.Equal(t, "method", d.GetReason())
		require.Empty(t, d.GetRawBody())
		require.NotEmpty(t, deliverylog.NotReplayable(d))
		require.Equal(t, "orch-cloud.webhook.failed", w.next().GetEvent())
		require.Contains(t, w.measured(), `"value":"method"`)
	}
}

// TestStrictQuietRefusalsKeepTheirReason: the status hides the reason from senders, and not from the log.
func TestStrictQuietRefusalsKeepTheirReason(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed, func(c *hooks.Config, _ *hooks.Deps) { c.UniformErrors = true })
	log := w.journal()
	w.put("signed", signed(t, ring, static))
	w.put("bound", &orchv1.WebhookDefinition{Template: static, AllowedIps: []string{"192.0.2.1"}})
	w.put("sealed", &orchv1.WebhookDefinition{Template: static, Verification: signed(t, ring, static).GetVerification(), SealedSecrets: []string{"nonsense"}})
	for _, c := range []struct {
		slug, reason string
		status       int
		header       []string
	}{
		{"signed", "signature", http.StatusBadRequest, nil},
		{"signed", "body", http.StatusBadRequest, []string{"Content-Encoding", "klingon", "X-Hub-Signature-256", "sha256=00"}},
		{"bound", "address", http.StatusBadRequest, nil},
		{"sealed", "unavailable", http.StatusServiceUnavailable, nil},
	} {
		t.Run(c.slug, func(t *testing.T) {
			require.Eventually(t, func() bool { return w.do(http.MethodPost, c.slug, "from a stranger", c.header...).status == c.status }, waitTime, tick, c.reason)
			d := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetReason() == c.reason })
			require.EqualValues(t, c.status, d.GetStatus())
			require.NotEmpty(t, deliverylog.NotReplayable(d), c.reason)
		})
	}
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
	require.Contains(t, payload(t, w.next())["error"], "body has no id")
}
