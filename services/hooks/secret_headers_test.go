package hooks_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestTemplatesDoNotSeeCredentials: a template that copies all headers publishes neither cookies, nor what was meant for a proxy,
// nor what proves the sender to the webhook.
func TestTemplatesDoNotSeeCredentials(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	const all = `{"event": "e", "resource": {"orch.resource.id": "r"}, "payload": {{ {"h": headers} | tojson | upper }}}`
	const body = "{}"
	for name, c := range map[string]struct {
		verification *orchv1.WebhookVerification
		header       []string
	}{
		"open": {nil, nil},
		"gitlab": {
			&orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB}, []string{"X-Gitlab-Token", "canary-secret"},
		},
		"token": {
			&orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN, Header: proto.String("X-Caller"), Prefix: proto.String("Canary ")},
			[]string{"X-Caller", "Canary canary-secret"},
		},
		"github": {
			&orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB},
			[]string{"X-Hub-Signature-256", signature("canary-secret", body)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &orchv1.WebhookDefinition{Template: all, Verification: c.verification}
			if c.verification != nil {
				d.SealedSecrets = []string{seal(t, ring, webhookdef.FieldSecrets, "canary-secret")}
			}
			w.put(name, d)
			got := w.do(http.MethodPost, name, body, append(c.header, "Cookie", "sid=canary-1", "Proxy-Authorization", "Basic canary-2", "X-Plain", "seen")...)
			require.Equal(t, http.StatusNoContent, got.status, name)
			payload := string(w.next().GetPayload())
			require.Contains(t, payload, "SEEN", name)
			for _, hidden := range append([]string{"canary", "cookie"}, c.header...) {
				require.NotContains(t, payload, strings.ToUpper(hidden), name)
			}
		})
	}
}

// TestARotatedSecretIsNotLogged: neither the delivery log nor the failure event shows a secret that the webhook no longer knows.
func TestARotatedSecretIsNotLogged(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	log := w.journal()
	w.put(slug, &orchv1.WebhookDefinition{
		Template:      static,
		Verification:  &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN, Header: proto.String("X-Caller")},
		SealedSecrets: []string{seal(t, ring, webhookdef.FieldSecrets, "the new secret")},
	})
	got := w.do(http.MethodPost, slug+"?tok%65n=canary-1&otp=canary-2", "{}", "X-Caller", "canary-of-old", "Referer", "https://sender.example/?sid=canary-3",
		"X-Original-Url", "/hooks?x=canary-4", "X-Pass", "canary-5")
	require.Equal(t, http.StatusUnauthorized, got.status)
	require.NotContains(t, string(w.next().GetPayload()), "canary", "the failure event")
	delivery := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetStatus() == http.StatusUnauthorized })
	text, err := proto.Marshal(delivery)
	require.NoError(t, err)
	require.NotContains(t, string(text), "canary", "the delivery log")
	require.Equal(t, "https://sender.example/", delivery.GetHeaders()["referer"])
}
