package hooks_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/sns/snstest"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks"
)

const topic = "arn:aws:sns:eu-central-1:000000000001:orders"

// withSNS starts a provider that the service takes for Amazon SNS.
func withSNS(t *testing.T) (*snstest.Provider, func(*hooks.Config, *hooks.Deps)) {
	t.Helper()
	p := snstest.New(t)
	return p, func(c *hooks.Config, d *hooks.Deps) {
		c.SNSHosts, c.OutboundNetworks, d.Roots = []string{p.Host()}, "127.0.0.1", p.Roots()
	}
}

func snsWebhook(template string) *orchv1.WebhookDefinition {
	return &orchv1.WebhookDefinition{
		Template:      template,
		Verification:  &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_SNS, TopicArns: []string{topic}},
		Deduplication: orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID.Enum(),
		Handshakes:    []orchv1.WebhookHandshake{orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SNS},
	}
}

// TestMessagesOfSNS: both versions of the signature become events, duplicates one; whatever SNS has not signed for the topic is
// refused.
func TestMessagesOfSNS(t *testing.T) {
	t.Parallel()
	p, trusted := withSNS(t)
	w := newWorld(t, trusted)
	w.put(slug, snsWebhook(`{"event": "{{ body.Message }}", "resource": {"orch.resource.id": "r"}}`))
	post := func(body string, header ...string) int {
		return w.do(http.MethodPost, slug, body, append(header, "Content-Type", "text/plain; charset=UTF-8")...).status
	}
	version1 := func(fields map[string]any) { fields["SignatureVersion"] = "1" }
	good := p.Notification(topic, "id-1", "first")
	require.Equal(t, http.StatusNoContent, post(good))
	require.Equal(t, "first", w.next().GetEvent())
	require.Equal(t, http.StatusNoContent, post(p.Notification(topic, "id-2", "second", version1)))
	require.Equal(t, "second", w.next().GetEvent())
	require.Equal(t, http.StatusNoContent, post(good), "a duplicate")
	require.Equal(t, 1, p.Fetched())

	stranger := snstest.New(t)
	for name, body := range map[string]string{
		"a changed message":         strings.Replace(good, "first", "forged", 1),
		"a key of its own":          stranger.Notification(topic, "id-3", "forged"),
		"a key under a trusted URL": stranger.Notification(topic, "id-3", "forged", func(fields map[string]any) { fields["SigningCertURL"] = p.CertificateURL() }),
		"another topic":             p.Notification(topic+"2", "id-3", "forged"),
		"no message":                `{"event": "forged"}`,
	} {
		require.Equal(t, http.StatusUnauthorized, post(body), name)
	}
	require.Equal(t, http.StatusUnauthorized, post("forged", "X-Amz-Sns-Rawdelivery", "true"))
	require.Equal(t, "orch-cloud.webhook.failed", w.next().GetEvent(), "one a minute")
	require.Zero(t, stranger.Fetched())
	w.none()
}

// TestSubscriptionsAreConfirmed for the webhook's topics, and not before their request is verified. While the certificate or the
// confirmation is unavailable SNS retries.
func TestSubscriptionsAreConfirmed(t *testing.T) {
	t.Parallel()
	p, trusted := withSNS(t)
	w := newWorld(t, trusted)
	log := w.journal()
	w.put(slug, snsWebhook(static))
	post := func(body string) int { return w.do(http.MethodPost, slug, body).status }
	p.Fail(true)
	require.Equal(t, http.StatusServiceUnavailable, post(p.Notification(topic, "id-0", "text")))
	d := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetReason() == "unavailable" })
	require.Contains(t, d.GetError(), "fetch signing certificate")
	require.Empty(t, d.GetRawBody(), "its sender is not verified")
	p.Fail(false)

	elsewhere := func(fields map[string]any) {
		fields["SubscribeURL"] = "https://127.0.0.1:1/?Action=ConfirmSubscription&Token=x"
	}
	require.Eventually(t, func() bool { return post(p.Confirmation(topic, "topsecret")) == http.StatusOK }, 2*waitTime, tick)
	require.Equal(t, http.StatusOK, post(p.Confirmation(topic, "topsecret")), "SNS posts it again, or somebody else does")
	require.Equal(t, []string{"topsecret"}, p.Confirmed())
	require.Equal(t, "sns", logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetStatus() == http.StatusOK }).GetHandshake())
	require.Equal(t, http.StatusUnauthorized, post(p.Confirmation(topic+"2", "stolen")))
	require.Equal(t, http.StatusUnauthorized, post(strings.Replace(p.Confirmation(topic, "stolen"), "Token=stolen", "Token=other", 1)))
	require.Equal(t, http.StatusServiceUnavailable, post(p.Confirmation(topic, "away", elsewhere)), "signed, and yet no host of SNS")
	logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetReason() == "handshake" })
	p.Fail(true)
	require.Equal(t, http.StatusServiceUnavailable, post(p.Confirmation(topic, "later")))
	require.Equal(t, []string{"topsecret"}, p.Confirmed())
}
