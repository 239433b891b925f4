//go:build e2e

package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/sns/snstest"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// recipe is a preset as the API serves it.
type recipe struct {
	Name    string         `json:"name"`
	Webhook map[string]any `json:"webhook"`
	Sample  struct {
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"sample"`
}

// hooked is a webhook that was created from a preset.
type hooked struct {
	ID           string          `json:"id"`
	URL          string          `json:"url"`
	Verification json.RawMessage `json:"verification"`
}

// Secrets of the webhooks and of a stranger.
const (
	recipeSecret   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	strangerSecret = "whsec_AAKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// TestRecipes creates a webhook of each preset in both forms and posts the signed sample. It becomes one event, however often it
// is sent. A changed body, another secret and an old timestamp get 401, and the log has the reason. The messages of SNS are those
// of a provider in the test, which the operator's settings name.
func TestRecipes(t *testing.T) {
	provider := snstest.New(t)
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			o := form.start(t, "SSL_CERT_FILE="+provider.RootsFile(), "ORCH_HOOKS_SNS_HOSTS="+provider.Host(), "ORCH_HOOKS_OUTBOUND_NETWORKS=127.0.0.1")
			c := &Client{HTTP: &http.Client{Timeout: startTimeout}, Ledger: NewLedger()}
			var recipes []recipe
			status, err := c.get(t.Context(), o.API()+"/webhooks/presets", &recipes)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			require.Len(t, recipes, 31)
			for _, r := range recipes {
				t.Run(r.Name, func(t *testing.T) {
					if r.Name == "sns" {
						r.proveSNS(t, o, c, provider)
						return
					}
					r.prove(t, o, c)
				})
			}
		})
	}
}

// prove creates the webhook and posts to it.
func (r recipe) prove(t *testing.T, o *Orch, c *Client) {
	r.Webhook["name"] = "recipe-" + r.Name
	verification, signs := r.Webhook["verification"].(map[string]any)
	scheme := verification["scheme"]
	secret, stranger := recipeSecret, strangerSecret
	switch scheme {
	case "basic":
		secret, stranger = "ada:"+secret, "ada:"+stranger
	case "sendgrid":
		secret, stranger = keyPair(t), keyPair(t)
	}
	if signs {
		verification["secrets"] = []string{publicPart(t, secret)}
	}
	var hook hooked
	status, err := c.post(t.Context(), o.API()+"/webhooks/", r.Webhook, &hook)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status)
	id := uuid.NewString()
	require.Equal(t, http.StatusNoContent, r.send(t, c, hook, secret, id, time.Now(), r.Sample.Body))
	require.Eventually(t, func() bool { return r.count(t, o, c, hook) == 1 }, startTimeout, 10*time.Millisecond)
	if !signs {
		return
	}
	require.Equal(t, http.StatusUnauthorized, r.send(t, c, hook, stranger, id, time.Now(), r.Sample.Body), "another secret")
	require.Eventually(t, func() bool { return r.refused(t, o, c, hook) == 1 }, startTimeout, 10*time.Millisecond, "the log has it")
	if !slices.Contains([]any{"gitlab", "token", "basic"}, scheme) { // These carry the secret and sign nothing.
		tampered := func(request *http.Request) {
			request.Body = http.NoBody
			request.ContentLength = 0
		}
		require.Equal(t, http.StatusUnauthorized, r.send(t, c, hook, secret, id, time.Now(), r.Sample.Body, tampered), "another body")
	}
	if slices.Contains([]any{"stripe", "slack", "standard-webhooks", "box", "calendly", "cloudflare-stream", "linear", "mailgun", "sendgrid"}, scheme) {
		require.Equal(t, http.StatusUnauthorized, r.send(t, c, hook, secret, id, time.Now().Add(-time.Hour), r.Sample.Body), "an old timestamp")
	}
	if scheme == "github" {
		r.proveRows(t, o, c, hook)
	}
	require.Equal(t, http.StatusNoContent, r.send(t, c, hook, secret, id, time.Now(), r.Sample.Body), "sent again")
	if r.Webhook["deduplication"] == "none" {
		require.Eventually(t, func() bool { return r.count(t, o, c, hook) == 2 }, startTimeout, 10*time.Millisecond)
		return
	}
	// Events of one workspace are stored in order: once a later one is there, the duplicate would be.
	require.Equal(t, http.StatusNoContent, r.send(t, c, hook, secret, id, time.Now(), r.Sample.Body), "and again")
	require.Equal(t, 1, r.count(t, o, c, hook))
}

// proveRows: each of 50 wrong signatures in a minute has a row in the log.
func (r recipe) proveRows(t *testing.T, o *Orch, c *Client, hook hooked) {
	t.Helper()
	for range 50 - 2 { // The log has another secret and another body already.
		require.Equal(t, http.StatusUnauthorized, r.send(t, c, hook, strangerSecret, uuid.NewString(), time.Now(), r.Sample.Body))
	}
	require.Eventually(t, func() bool {
		var rows []struct{ Count int }
		status, err := c.post(t.Context(), o.API()+"/webhooks/"+hook.ID+"/deliveries/filter", map[string]any{
			"deliveries": map[string]any{"reason": map[string]any{"any_": []string{"signature"}}}, "limit": 200,
		}, &rows)
		return err == nil && status == http.StatusOK && len(rows) == 50 && !slices.ContainsFunc(rows, func(row struct{ Count int }) bool { return row.Count != 1 })
	}, startTimeout, 10*time.Millisecond, "50 rows")
}

// proveSNS confirms a subscription and posts messages of its topic, signed by the provider's certificate.
func (r recipe) proveSNS(t *testing.T, o *Orch, c *Client, provider *snstest.Provider) {
	const topic = "arn:aws:sns:eu-central-1:000000000001:orders"
	r.Webhook["name"] = "recipe-" + r.Name
	verification, ok := r.Webhook["verification"].(map[string]any)
	require.True(t, ok)
	verification["topic_arns"] = []string{topic}
	var hook hooked
	status, err := c.post(t.Context(), o.API()+"/webhooks/", r.Webhook, &hook)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status)
	hook.Verification = nil // The provider has signed the messages already.
	post := func(body string) int { return r.send(t, c, hook, "", "", time.Now(), body) }
	token := uuid.NewString()
	require.Equal(t, http.StatusOK, post(provider.Confirmation(topic, token)))
	require.Contains(t, provider.Confirmed(), token)
	id := uuid.NewString()
	good := provider.Notification(topic, id, "an order")
	version1 := func(fields map[string]any) { fields["SignatureVersion"] = "1" }
	require.Equal(t, http.StatusNoContent, post(good))
	require.Eventually(t, func() bool { return r.count(t, o, c, hook) == 1 }, startTimeout, 10*time.Millisecond)
	require.Equal(t, http.StatusUnauthorized, post(snstest.New(t).Notification(topic, id, "another key")))
	require.Eventually(t, func() bool { return r.refused(t, o, c, hook) == 1 }, startTimeout, 10*time.Millisecond, "the log has it")
	require.Equal(t, http.StatusUnauthorized, post(strings.Replace(good, "an order", "no order", 1)))
	require.Equal(t, http.StatusUnauthorized, post(provider.Notification(topic+"2", id, "another topic")))
	require.Equal(t, http.StatusNoContent, post(provider.Notification(topic, id, "an order", version1)), "sent again")
	require.Equal(t, http.StatusNoContent, post(provider.Notification(topic, uuid.NewString(), "another order", version1)))
	require.Eventually(t, func() bool { return r.count(t, o, c, hook) == 2 }, startTimeout, 10*time.Millisecond)
}

// send posts the sample, signed with a secret at a time, and returns the status.
func (r recipe) send(t *testing.T, c *Client, hook hooked, secret, id string, at time.Time, body string, change ...func(*http.Request)) int {
	t.Helper()
	target, err := url.Parse(hook.URL)
	require.NoError(t, err)
	signed := &receive.Request{
		Method: r.Sample.Method, Raw: []byte(body), URI: target.RequestURI(),
		Header: []receive.Field{{Name: "content-type", Value: r.Sample.Headers["Content-Type"]}, {Name: "host", Value: target.Host}},
	}
	var fields []receive.Field
	if len(hook.Verification) > 0 && string(hook.Verification) != "null" {
		config := &orchv1.WebhookVerification{}
		require.NoError(t, restjson.Unmarshal(hook.Verification, config))
		if config.GetScheme() == orchv1.WebhookScheme_WEBHOOK_SCHEME_SENDGRID {
			fields = signECDSA(t, secret, signed.Raw, at)
		} else {
			fields, err = verify.Sign(config, secret, signed, id, at)
			require.NoError(t, err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), r.Sample.Method, hook.URL, bytes.NewReader(signed.Raw))
	require.NoError(t, err)
	for name, value := range r.Sample.Headers {
		request.Header.Set(name, value)
	}
	for _, f := range fields {
		request.Header.Set(f.Name, f.Value)
	}
	for _, apply := range change {
		apply(request)
	}
	status, err := c.do(request, nil)
	require.NoError(t, err)
	return status
}

// keyPair returns a private key as a sender of ECDSA signatures has it.
func keyPair(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return string(der)
}

// parseKeyPair returns the private key of keyPair; nil for another secret.
func parseKeyPair(secret string) *ecdsa.PrivateKey {
	key, _ := x509.ParsePKCS8PrivateKey([]byte(secret))
	private, _ := key.(*ecdsa.PrivateKey)
	return private
}

// publicPart returns what the webhook's owner enters: the public key of a pair, or a secret as it is.
func publicPart(t *testing.T, secret string) string {
	t.Helper()
	private := parseKeyPair(secret)
	if private == nil {
		return secret
	}
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(der)
}

// signECDSA signs as SendGrid publishes it.
func signECDSA(t *testing.T, secret string, body []byte, at time.Time) []receive.Field {
	t.Helper()
	timestamp := strconv.FormatInt(at.Unix(), 10)
	digest := sha256.Sum256(append([]byte(timestamp), body...))
	signature, err := ecdsa.SignASN1(rand.Reader, parseKeyPair(secret), digest[:])
	require.NoError(t, err)
	return []receive.Field{
		{Name: "X-Twilio-Email-Event-Webhook-Timestamp", Value: timestamp},
		{Name: "X-Twilio-Email-Event-Webhook-Signature", Value: base64.StdEncoding.EncodeToString(signature)},
	}
}

// count returns how many events of the webhook are stored, failures excluded.
func (r recipe) count(t *testing.T, o *Orch, c *Client, hook hooked) int {
	t.Helper()
	var page struct {
		Events []struct {
			Event   string `json:"event"`
			Related []map[string]string
		} `json:"events"`
	}
	status, err := c.post(t.Context(), o.API()+"/events/filter", map[string]any{"limit": 50, "filter": map[string]any{
		"any_resource": map[string]any{"id": []string{"orch-cloud.webhook." + hook.ID}}, "event": map[string]any{"exclude_prefix": []string{"orch-cloud."}},
	}}, &page)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	return len(page.Events)
}

// refused returns how many requests the delivery log has that were refused for their signature.
func (r recipe) refused(t *testing.T, o *Orch, c *Client, hook hooked) int {
	t.Helper()
	var counts []struct {
		Reason string `json:"reason"`
		Count  int    `json:"count"`
	}
	status, err := c.post(t.Context(), o.API()+"/webhooks/"+hook.ID+"/deliveries/summary", nil, &counts)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	total := 0
	for _, one := range counts {
		if one.Reason == "signature" {
			total += one.Count
		}
	}
	return total
}
