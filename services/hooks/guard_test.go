package hooks_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks"
)

const (
	signing  = "the newer secret"
	signing2 = "the older secret"
)

// withKeys gives the service keys, and the test the same.
func withKeys(t *testing.T) (secrets.Keyring, func(*hooks.Config, *hooks.Deps)) {
	t.Helper()
	ring, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	return ring, func(c *hooks.Config, _ *hooks.Deps) { c.Secrets = ring }
}

func seal(t *testing.T, ring secrets.Keyring, field, secret string) string {
	t.Helper()
	sealed, err := ring.Seal(webhookdef.SecretPlace(uuid.MustParse(workspace), uuid.MustParse(hookID), field), []byte(secret))
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(sealed)
}

// signed is a webhook that verifies as GitHub signs.
func signed(t *testing.T, ring secrets.Keyring, template string) *orchv1.WebhookDefinition {
	t.Helper()
	return &orchv1.WebhookDefinition{
		Template:      template,
		Verification:  &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB, Tolerance: 300},
		Deduplication: orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID.Enum(),
		SealedSecrets: []string{seal(t, ring, webhookdef.FieldSecrets, signing), seal(t, ring, webhookdef.FieldSecrets, signing2)},
	}
}

func signature(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	w.put(slug, signed(t, ring, static))
	const body = `{"a": 1}`
	for _, secret := range []string{signing, signing2} {
		own := fmt.Sprintf(`{"signed with": %q}`, secret)
		require.Equal(t, http.StatusNoContent, w.do("POST", slug, own, "X-Hub-Signature-256", signature(secret, own)).status)
		require.Equal(t, "e", w.next().GetEvent())
	}
	// The log has the first failure, once in a while: the one of a sender who gives away its signing key.
	got := w.do("POST", slug, body, "X-Hub-Signature-256", "sha256="+signing)
	require.Equal(t, http.StatusUnauthorized, got.status)
	for name, header := range map[string][]string{
		"none":                  nil,
		"another secret":        {"X-Hub-Signature-256", signature("the newer secreT", body)},
		"another body":          {"X-Hub-Signature-256", signature(signing, body+" ")},
		"the secret":            {"X-Hub-Signature-256", signing},
		"two, one of them good": {"X-Hub-Signature-256", "sha256=00", "X-Hub-Signature-256", signature(signing, body)},
	} {
		got = w.do("POST", slug, body, header...)
		require.Equal(t, http.StatusUnauthorized, got.status, name)
		require.Equal(t, "Signature", got.header.Get("WWW-Authenticate"))
		require.Empty(t, got.body)
	}
	e := w.next()
	require.Equal(t, "orch-cloud.webhook.failed", e.GetEvent(), "once in a while")
	require.Nil(t, payload(t, e)["body"])
	require.NotContains(t, string(e.GetPayload()), signing)
	w.none()

	// A sender that cannot sign does not learn of a broken template, and a handshake that anybody may make works without a signature.
	require.Equal(t, http.StatusOK, w.do("POST", slug, validation, "Aeg-Event-Type", "SubscriptionValidation").status)
}

// TestUnreadableBodiesOfStrangers: whoever cannot sign fills neither the log nor the events with bodies.
func TestUnreadableBodiesOfStrangers(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed, func(c *hooks.Config, _ *hooks.Deps) { c.MaxBody = 100 })
	log := w.journal()
	w.put(slug, signed(t, ring, static))
	for range 5 {
		for _, c := range []struct {
			status         int
			body, encoding string
		}{
			{http.StatusBadRequest, "no gzip", "gzip"},
			{http.StatusUnsupportedMediaType, "text", "klingon"},
			{http.StatusRequestEntityTooLarge, strings.Repeat("x", 101), "identity"},
		} {
			t.Run(c.body, func(t *testing.T) {
				require.Equal(t, c.status, w.do("POST", slug, c.body, "Content-Encoding", c.encoding, "X-Hub-Signature-256", "sha256=00").status)
			})
		}
	}
	e := w.next()
	require.Equal(t, "orch-cloud.webhook.failed", e.GetEvent(), "one a minute")
	require.Nil(t, payload(t, e)["body"])
	w.none()
	d := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetReason() == "body" })
	require.Empty(t, d.GetRawBody())
	require.Contains(t, w.measured(), `"value":"body"`)
}

func TestSecretsThatDoNotOpenCloseTheWebhook(t *testing.T) {
	t.Parallel()
	ring, _ := withKeys(t)
	_, others := withKeys(t)
	w := newWorld(t, others)
	w.put(slug, signed(t, ring, static))
	moved := signed(t, ring, static)
	const body = "{}"
	got := w.do("POST", slug, body, "X-Hub-Signature-256", signature(signing, body))
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	moved.SealedSecrets = []string{"not even base64"}
	w.put("other", moved)
	require.Equal(t, http.StatusServiceUnavailable, w.do("POST", "other", body).status)
	require.NotContains(t, w.logs.String(), signing)
}

func TestDuplicatesMakeOneEvent(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	// A second replica, which remembers nothing of the first.
	second, err := hooks.New(hooks.Config{Secrets: ring}, hooks.Deps{Broker: w.conn})
	require.NoError(t, err)
	w.start(second.Run)
	require.Eventually(t, func() bool { return second.Ready() == nil }, waitTime, tick)
	other := httptest.NewServer(second.Handler())
	t.Cleanup(other.Close)

	w.put(slug, signed(t, ring, `{"event": "{{ body.n }}", "resource": {"orch.resource.id": "r"}}`))
	send := func(id, body string) int {
		return w.do("POST", slug, body, "X-Hub-Signature-256", signature(signing, body), "X-GitHub-Delivery", id).status
	}
	require.Equal(t, http.StatusNoContent, send("d-1", `{"n": "1"}`))
	first := w.next()
	for range 3 {
		require.Equal(t, http.StatusNoContent, send("d-1", `{"n": "1"}`), "a repeat is a success")
	}
	w.none()
	require.Contains(t, w.measured(), "orch_hooks_duplicates_total")

	w.server = other
	require.Equal(t, http.StatusNoContent, send("d-1", `{"n": "1"}`))
	require.Equal(t, first.GetId(), w.next().GetId(), "the other replica does not know, but the store does: one id is one event")
	require.Equal(t, http.StatusNoContent, send("d-2", `{"n": "2"}`))
	require.NotEqual(t, first.GetId(), w.next().GetId())

	// A failed request is no delivery: its repeat makes the event.
	w.put(slug, signed(t, ring, `{{ body.n }}`))
	w.settle("")
	require.Equal(t, http.StatusBadRequest, send("d-3", `{"n": "3"}`))
	require.Equal(t, "orch-cloud.webhook.failed", w.next().GetEvent())
	w.put(slug, signed(t, ring, `{"event": "{{ body.n }}", "resource": {"orch.resource.id": "r"}}`))
	require.Eventually(t, func() bool { return send("d-3", `{"n": "3"}`) == http.StatusNoContent }, waitTime, tick)
	for e := w.next(); e.GetEvent() != "3"; e = w.next() {
		require.Equal(t, "orch-cloud.webhook.failed", e.GetEvent())
	}
}

// TestACapturedRequestIsOneEvent: GitHub signs neither the id of a delivery nor the name of its event. Whoever captured a
// request cannot make further events of it.
func TestACapturedRequestIsOneEvent(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	w.put(slug, signed(t, ring, `{"event": "github.{{ headers['x-github-event'] }}", "resource": {"orch.resource.id": "r"}}`))
	const body = `{"action": "deploy", "n": 1}`
	for _, c := range [][3]string{
		{"d-1", "push", "application/json"},
		{"d-2", "push", "application/json"},
		{"d-3", "release", "application/json"},
		{"d-4", "push", "application/x-www-form-urlencoded"},
		{"", "push", "application/json; charset=utf-16"},
	} {
		got := w.do(http.MethodPost, slug, body, "X-Hub-Signature-256", signature(signing, body),
			"X-GitHub-Delivery", c[0], "X-GitHub-Event", c[1], "Content-Type", c[2])
		require.Equal(t, http.StatusNoContent, got.status, c)
	}
	require.Equal(t, "github.push", w.next().GetEvent())
	w.none()
}

func TestManyAtOnceAreOneDelivery(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	w.put(slug, signed(t, ring, static))
	require.Eventually(t, func() bool { return w.do("POST", slug, "").status == http.StatusUnauthorized }, waitTime, tick)
	w.next()
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			r, _ := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, w.server.URL+"/hooks/"+slug, strings.NewReader("{}"))
			r.Header.Set("X-Hub-Signature-256", signature(signing, "{}"))
			r.Header.Set("X-GitHub-Delivery", "d")
			response, err := w.server.Client().Do(r)
			if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusNoContent {
				t.Errorf("%v %v", response, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, "e", w.next().GetEvent())
	w.none()
}

func TestHandshakesThatAreAskedFor(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	const (
		slack = `{"token": "x", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", "type": "url_verification"}`
		sns   = `{"Type": "SubscriptionConfirmation", "Token": "t", "SubscribeURL": "http://127.0.0.1:1/never-fetched"}`
		meta  = "?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
	)
	all := &orchv1.WebhookDefinition{
		Template: static, SealedVerifyToken: proto.String(seal(t, ring, webhookdef.FieldVerifyToken, "meatyhamhock")),
		Handshakes: []orchv1.WebhookHandshake{
			orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SLACK, orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SNS, orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_META,
		},
	}
	w.put("asked", all)
	w.put("plain", &orchv1.WebhookDefinition{Template: static})

	got := w.do("POST", "asked", slack, "Content-Type", "application/json")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", got.body)
	require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	got = w.do("POST", "asked", sns, "x-amz-sns-message-type", "SubscriptionConfirmation", "Content-Type", "text/plain; charset=UTF-8")
	require.Equal(t, http.StatusOK, got.status)
	require.Empty(t, got.body)
	got = w.do("GET", "asked"+meta+"meatyhamhock", "")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "1158201444", got.body)
	w.none()
	for _, token := range []string{"", "meatyhamhocK", "meatyhamhoc"} {
		require.Equal(t, http.StatusNoContent, w.do("GET", "asked"+meta+token, "").status, "an ordinary request")
		require.Equal(t, "e", w.next().GetEvent())
	}
	for _, body := range []string{slack, sns} {
		require.Equal(t, http.StatusNoContent, w.do("POST", "plain", body).status, "not asked for")
		require.Equal(t, "e", w.next().GetEvent())
	}

	// Slack signs its handshake as it signs everything; Meta's proves itself by the token.
	strict := signed(t, ring, "{% broken")
	strict.Handshakes, strict.SealedVerifyToken = all.GetHandshakes(), all.SealedVerifyToken
	w.put("strict", strict)
	require.Equal(t, http.StatusUnauthorized, w.do("POST", "strict", slack).status)
	require.Equal(t, http.StatusOK, w.do("POST", "strict", slack, "X-Hub-Signature-256", signature(signing, slack)).status)
	require.Equal(t, http.StatusOK, w.do("GET", "strict"+meta+"meatyhamhock", "").status)
	require.Equal(t, http.StatusUnauthorized, w.do("GET", "strict"+meta+"wrong", "").status)
}

func TestRates(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Now())
	w := newWorld(t, func(_ *hooks.Config, d *hooks.Deps) { d.Clock = now })
	w.put(slug, &orchv1.WebhookDefinition{Template: static, RateLimit: &orchv1.WebhookRateLimit{Requests: 3, Seconds: 60}})
	post := func() answer { return w.do("POST", slug, "secret body") }
	for range 3 {
		require.Equal(t, http.StatusNoContent, post().status)
		w.next()
	}
	for range 3 {
		got := post()
		require.Equal(t, http.StatusTooManyRequests, got.status)
		require.Equal(t, "20", got.header.Get("Retry-After"))
		require.Empty(t, got.body)
	}
	e := w.next()
	require.Equal(t, "too many requests", payload(t, e)["error"])
	require.NotContains(t, string(e.GetPayload()), "secret")
	now.Advance(20 * time.Second)
	require.Equal(t, http.StatusNoContent, post().status)
	require.Equal(t, "20", post().header.Get("Retry-After"), "one in 20 s after the burst")
	w.next()

	// The limit of the account covers all of its webhooks.
	w.putAccount(&orchv1.AccountDefinition{Id: account, Revision: 1, RateLimit: &orchv1.WebhookRateLimit{Requests: 1, Seconds: 60}})
	w.put("a", &orchv1.WebhookDefinition{Template: static})
	w.put("b", &orchv1.WebhookDefinition{Template: static})
	require.Eventually(t, func() bool { return w.do("POST", "a", "").status == http.StatusTooManyRequests }, waitTime, tick)
	require.Equal(t, http.StatusTooManyRequests, w.do("POST", "b", "").status)
}

func (w *world) putAccount(d *orchv1.AccountDefinition) {
	w.t.Helper()
	entry, err := webhookdef.EncodeAccount(d)
	require.NoError(w.t, err)
	_, err = w.bucket.Put(w.t.Context(), webhookdef.AccountKey(uuid.MustParse(d.GetId())), entry)
	require.NoError(w.t, err)
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *hooks.Config, _ *hooks.Deps) { c.TrustedProxies = []string{"127.0.0.0/8", "10.0.0.0/8"} })
	w.put(slug, &orchv1.WebhookDefinition{Template: static, AllowedIps: []string{"192.0.2.0/24", "2001:db8::/32"}})
	for from, status := range map[string]int{
		"192.0.2.7":               http.StatusNoContent,
		"192.0.2.7:4711":          http.StatusNoContent,
		"[2001:db8::1]:80":        http.StatusNoContent,
		"1.1.1.1, 192.0.2.7":      http.StatusNoContent,
		"192.0.2.7, 10.1.1.1":     http.StatusNoContent,
		"192.0.2.7, 198.51.100.1": http.StatusForbidden, // The first is what the client made up.
		"198.51.100.1":            http.StatusForbidden,
		"":                        http.StatusForbidden,
		"unknown":                 http.StatusForbidden,
	} {
		got := w.do("POST", slug, "secret", "X-Forwarded-For", from)
		require.Equal(t, status, got.status, from)
		require.Empty(t, got.body)
	}
	w.put("open", &orchv1.WebhookDefinition{Template: static})
	w.putAccount(&orchv1.AccountDefinition{Id: account, Revision: 1, AllowedIps: []string{"203.0.113.9"}})
	require.Eventually(t, func() bool {
		return w.do("POST", "open", "", "X-Forwarded-For", "192.0.2.7").status == http.StatusForbidden
	}, waitTime, tick, "the account's list holds for all of its webhooks")
	require.Equal(t, http.StatusForbidden, w.do("POST", slug, "", "X-Forwarded-For", "203.0.113.9").status, "both must allow it")
	require.Equal(t, http.StatusNoContent, w.do("POST", "open", "", "X-Forwarded-For", "203.0.113.9").status)
}

func TestRulesOfTheSettingsHoldForEveryAccount(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Now())
	w := newWorld(t, func(c *hooks.Config, d *hooks.Deps) {
		c.AccountRate, c.AllowedIPs, d.Clock = 2, []string{"127.0.0.1"}, now
	})
	w.put("a", &orchv1.WebhookDefinition{Template: static})
	w.put("b", &orchv1.WebhookDefinition{Template: static})
	w.putAs("other", &orchv1.WebhookDefinition{
		Id: "01890000-0000-7000-8000-00000000000d", Account: "01890000-0000-7000-8000-00000000000e", Workspace: workspace, Template: static, Enabled: true,
	})
	require.Equal(t, http.StatusNoContent, w.do("POST", "a", "").status)
	require.Equal(t, http.StatusNoContent, w.do("POST", "b", "").status)
	require.Equal(t, http.StatusTooManyRequests, w.do("POST", "a", "").status)
	require.Equal(t, http.StatusNoContent, w.do("POST", "other", "").status, "each account for itself")
	// The account's rules come beside them: the clock stands still, so only a lifted limit would let another request pass.
	w.putAccount(&orchv1.AccountDefinition{Id: account, Revision: 1, RateLimit: &orchv1.WebhookRateLimit{Requests: 1000, Seconds: 1}})
	w.putAccount(&orchv1.AccountDefinition{Id: account, Revision: 2, AllowedIps: []string{"192.0.2.1"}})
	require.Eventually(t, func() bool { return w.do("POST", "a", "").status == http.StatusForbidden }, waitTime, tick)
	w.putAccount(&orchv1.AccountDefinition{Id: account, Revision: 3, AllowedIps: []string{"0.0.0.0/0"}, RateLimit: &orchv1.WebhookRateLimit{Requests: 1000, Seconds: 1}})
	require.Eventually(t, func() bool { return w.do("POST", "a", "").status == http.StatusTooManyRequests }, waitTime, tick, "an account cannot lift the settings' rate")
	now.Advance(time.Minute)
	require.Equal(t, http.StatusNoContent, w.do("POST", "a", "").status)
}
