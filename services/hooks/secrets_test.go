package hooks_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestSecretsAreShownNowhere sends what a webhook knows its sender by where it does not belong, in the way of each scheme: as
// the signature, in another header, in the query and in the path. Neither events nor the delivery log may tell it.
func TestSecretsAreShownNowhere(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	log := w.journal()
	const bare = "Q2FuYXJ5LXNlY3JldC0wMTIzNDU2Nzg5"
	const publicKey = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEd4EqGL3R6iOIgucnGOEfOIvn6CLvROGrwxdFjLfsfkEvPZjsLNPLR68mwwHhnJe80aRsFQ4WpaJzOszHmvib2g=="
	now := time.Now().UTC().Format(time.RFC3339)
	type sender struct {
		secret string
		header []string
		status int
	}
	senders := map[orchv1.WebhookScheme]sender{
		// A webhook without verification; it has the token that Meta must name.
		orchv1.WebhookScheme_WEBHOOK_SCHEME_UNSPECIFIED:       {bare, nil, http.StatusNoContent},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB:            {bare, []string{"X-Hub-Signature-256", "sha256=" + bare}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB:            {bare, []string{"X-Gitlab-Token", bare}, http.StatusNoContent},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE:            {"whsec_" + bare, []string{"Stripe-Signature", "t=" + now + ",v1=" + bare}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_SLACK:             {bare, []string{"X-Slack-Signature", "v0=" + bare, "X-Slack-Request-Timestamp", now}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS: {"whsec_" + bare, []string{"webhook-signature", "v1," + bare, "webhook-id", "1", "webhook-timestamp", now}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_SHOPIFY:           {bare, []string{"X-Shopify-Hmac-Sha256", bare}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_PAGERDUTY:         {bare, []string{"X-PagerDuty-Signature", "v1=" + bare}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO:            {bare, []string{"X-Twilio-Signature", bare}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_CALENDLY:          {bare, []string{"Calendly-Webhook-Signature", "t=" + now + ",v1=" + bare}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_CLOUDFLARE_STREAM: {bare, []string{"Webhook-Signature", "time=" + now + ",sig1=" + bare}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_BOX:               {bare, []string{"BOX-SIGNATURE-PRIMARY", bare, "BOX-DELIVERY-TIMESTAMP", now}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_LINEAR:            {bare, []string{"Linear-Signature", bare}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_MAILGUN:           {bare, nil, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_SENDGRID:          {publicKey, []string{"X-Twilio-Email-Event-Webhook-Signature", bare, "X-Twilio-Email-Event-Webhook-Timestamp", now}, http.StatusUnauthorized},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_BASIC:             {"ada:" + bare, []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+bare))}, http.StatusNoContent},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN:             {bare, []string{"X-Acme-Proof", "sig " + bare}, http.StatusNoContent},
		orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC:              {bare, []string{"X-Acme-Proof", "sig " + bare}, http.StatusUnauthorized},
	}
	require.Len(t, senders, len(orchv1.WebhookScheme_name)-1, "all but sns, which has no secret")
	for scheme, s := range senders {
		id := uuid.New()
		d := &orchv1.WebhookDefinition{Id: id.String(), Account: account, Workspace: workspace, Name: "a hook", Enabled: true, Template: static}
		sealed := func(field string) string {
			box, err := ring.Seal(webhookdef.SecretPlace(uuid.MustParse(workspace), id, field), []byte(s.secret))
			require.NoError(t, err)
			return base64.StdEncoding.EncodeToString(box)
		}
		if scheme == orchv1.WebhookScheme_WEBHOOK_SCHEME_UNSPECIFIED {
			d.SealedVerifyToken = proto.String(sealed(webhookdef.FieldVerifyToken))
		} else {
			d.Verification = &orchv1.WebhookVerification{
				Scheme: scheme, Tolerance: 300, Header: proto.String("X-Acme-Proof"), Prefix: proto.String("sig "), SignedContent: proto.String("{body}"),
			}
			d.SealedSecrets = []string{sealed(webhookdef.FieldSecrets)}
		}
		own := "slug-" + strings.ToLower(scheme.String())
		w.putAs(own, d)
		header := append([]string{"X-Note", "it is " + s.secret + "!"}, s.header...)
		got := w.send("POST", "/hooks/"+own+"/"+s.secret+"?q="+s.secret, strings.NewReader("{}"), header...)
		require.Equal(t, s.status, got.status, scheme)
		event, err := restjson.Marshal(w.next())
		require.NoError(t, err)
		require.Contains(t, string(event), `"x-note":"it is ***!"`, scheme)
		delivery := logged(t, log, func(one *orchv1.WebhookDelivery) bool { return one.GetWebhookId() == id.String() })
		require.Equal(t, "it is ***!", delivery.GetHeaders()["x-note"], scheme)
		require.Equal(t, "/***", delivery.GetPath(), scheme)
		require.Equal(t, "q=***", delivery.GetQuery(), scheme)
		text, err := proto.Marshal(delivery)
		require.NoError(t, err)
		for _, shown := range [][]byte{event, text} {
			require.NotContains(t, string(shown), bare, scheme)
		}
	}
}
