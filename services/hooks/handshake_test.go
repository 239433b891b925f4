package hooks_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// validation is what Event Grid posts when a subscription is made.
const validation = `[{
	"id": "2d1781af-3a4c-4d7c-bd0c-e34b19da4e66", "topic": "/subscriptions/x", "subject": "",
	"data": {"validationCode": "512d38b6-c7b8-40c8-89fe-f46f9e9622b6", "validationUrl": "https://example.com/never-fetched"},
	"eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "eventTime": "2022-10-25T22:12:19.4556811Z", "metadataVersion": "1", "dataVersion": "1"
}]`

func TestEventGridHandshake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: "{% broken"})
	got := w.do("POST", slug, validation, "Aeg-Event-Type", "subscriptionvalidation", "Content-Type", "application/json; charset=utf-8")
	require.Equal(t, http.StatusOK, got.status, "also when the template is broken")
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.JSONEq(t, `{"validationResponse": "512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}`, got.body)
	w.none()

	w.put(slug, &orchv1.WebhookDefinition{Template: `{"event": "{{ headers['aeg-event-type'] }}", "resource": {"orch.resource.id": "r"}}`})
	for _, c := range [][2]string{
		{"Notification", validation},
		{"SubscriptionDeletion", validation},
		{"SubscriptionValidation", "{}"},
		{"SubscriptionValidation", "[]"},
		{"SubscriptionValidation", `[{"eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "data": {}}]`},
		{"SubscriptionValidation", `[{"eventType": "other", "data": {"validationCode": "x"}}]`},
	} {
		require.Eventually(t, func() bool {
			return w.do("POST", slug, c[1], "Aeg-Event-Type", c[0]).status == http.StatusNoContent
		}, waitTime, tick, c)
		for e := w.next(); e.GetEvent() != c[0]; e = w.next() { // Failures of the broken template come first.
			require.Equal(t, "orch-cloud.webhook.failed", e.GetEvent())
		}
	}
}

func TestCloudEventsHandshake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: "{% broken"})
	for rate, allowed := range map[string]string{"": "", "120": "120", "0": "*", "many": "*"} {
		header := []string{"WebHook-Request-Origin", "eventemitter.example.com", "WebHook-Request-Callback", "http://127.0.0.1:1/never-fetched"}
		if rate != "" {
			header = append(header, "WebHook-Request-Rate", rate)
		}
		got := w.do("OPTIONS", slug, "", header...)
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, "eventemitter.example.com", got.header.Get("WebHook-Allowed-Origin"))
		require.Equal(t, allowed, got.header.Get("WebHook-Allowed-Rate"))
		require.Equal(t, "POST", got.header.Get("Allow"))
		require.Empty(t, got.body)
	}
	w.none()
}

// TestHandshakesWithoutABody: Okta's challenge and a HEAD request are answered if the webhook asks for it, before methods and credential.
func TestHandshakesWithoutABody(t *testing.T) {
	t.Parallel()
	const challenge = "X-Okta-Verification-Challenge"
	w := newWorld(t)
	hook := func(handshakes ...orchv1.WebhookHandshake) *orchv1.WebhookDefinition {
		return &orchv1.WebhookDefinition{
			Template: "{% broken", Handshakes: handshakes, Methods: []orchv1.WebhookMethod{orchv1.WebhookMethod_WEBHOOK_METHOD_POST},
		}
	}
	w.put(slug, hook())
	require.Equal(t, http.StatusMethodNotAllowed, w.do("GET", slug, "", challenge, "word").status)
	require.Equal(t, http.StatusMethodNotAllowed, w.do("HEAD", slug, "").status)
	w.put(slug, hook(orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_OKTA, orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_HEAD))
	require.Eventually(t, func() bool { return w.do("HEAD", slug, "").status == http.StatusOK }, waitTime, tick)
	got := w.do("GET", slug, "", challenge, `a "word"`)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.JSONEq(t, `{"verification": "a \"word\""}`, got.body)
	require.Equal(t, http.StatusMethodNotAllowed, w.do("GET", slug, "").status, "no challenge")
}
