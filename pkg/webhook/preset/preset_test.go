package preset_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/preset"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/render"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var now = time.Unix(1_772_442_847, 0)

// request returns the sample of a preset as the server receives it.
func request(p *orchv1.WebhookPreset) *receive.Request {
	body := []byte(p.GetSample().GetBody())
	r := &receive.Request{Method: p.GetSample().GetMethod(), Raw: body, Wire: body, URI: "/hooks/slug", Slug: "slug", Received: now}
	for name, value := range p.GetSample().GetHeaders() {
		r.Header = append(r.Header, receive.Field{Name: strings.ToLower(name), Value: value})
	}
	r.Header = append(r.Header, receive.Field{Name: "host", Value: "orch.example.com"})
	receive.Sort(r.Header)
	return r
}

// signed adds the sender's proof.
func signed(t *testing.T, config *orchv1.WebhookVerification, secret string, r *receive.Request, at time.Time) *receive.Request {
	t.Helper()
	fields, err := verify.Sign(config, secret, r, "delivery-1", at)
	require.NoError(t, err)
	r.Wire = r.Raw // The proof may be in the body.
	for _, f := range fields {
		if f.Name == "Authorization" {
			r.Authorization = f.Value
			continue
		}
		r.Header = append(r.Header, receive.Field{Name: strings.ToLower(f.Name), Value: f.Value})
	}
	return r
}

// TestPresetsOfProviders: the signed sample of each is verified and becomes an event; a changed body, another secret and an
// old timestamp are refused; the same delivery again has the same event id.
func TestPresetsOfProviders(t *testing.T) {
	t.Parallel()
	for _, vocab := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
		presets, err := preset.All(vocab)
		require.NoError(t, err)
		require.Len(t, presets, 31)
		for _, p := range presets {
			t.Run(fmt.Sprint(vocab, "/", p.GetName()), func(t *testing.T) {
				t.Parallel()
				create := &orchv1.WebhookCreate{}
				var fields map[string]any
				require.NoError(t, json.Unmarshal(p.GetWebhook(), &fields))
				fields["name"] = p.GetName()
				text, err := json.Marshal(fields)
				require.NoError(t, err)
				require.NoError(t, restjson.Unmarshal(text, create), "POST /webhooks/ takes the fields")
				require.Equal(t, p.GetName() == "generic", len(create.GetMethods()) == 0, "a link preview causes no event of a provider")
				r := request(p)
				if in := create.GetVerification(); in.GetScheme() == orchv1.WebhookScheme_WEBHOOK_SCHEME_SENDGRID {
					require.NotEmpty(t, p.GetSecret()) // Only SendGrid can sign; see TestSignedSamples.
				} else if in != nil && verify.HasSecrets(in.GetScheme()) {
					require.NotEmpty(t, p.GetSecret(), "it says which secret")
					check(t, p, in, create.GetDeduplication())
				} else {
					require.Empty(t, p.GetSecret())
				}
				engine := render.New(render.Options{Vocabulary: vocab})
				rendered, err := engine.Render(t.Context(), create.GetTemplate(), render.NewVariables(r, r.Body()))
				require.NoError(t, err)
				hook := &orchv1.WebhookDefinition{Id: uuid.NewString(), Name: p.GetName()}
				list, err := engine.Events(rendered, hook, r, r.Body(), uuid.Nil)
				require.NoError(t, err, rendered)
				require.Equal(t, wantEvents[p.GetName()], list[0].GetEvent())
				require.NotContains(t, rendered, "@resource")
			})
		}
	}
}

// wantEvents are the event names of the samples.
var wantEvents = map[string]string{
	"github": "github.push", "gitlab": "gitlab.push", "gitlab-signed": "gitlab.push", "stripe": "stripe.invoice.paid", "slack": "slack.app_mention",
	"shopify": "shopify.orders.create", "twilio": "twilio.message.received", "pagerduty": "pagerduty.incident.triggered",
	"alertmanager": "alertmanager.firing", "cloudevents": "com.acme.order.paid", "eventgrid": "azure.Microsoft.Storage.BlobCreated",
	"bitbucket": "bitbucket.repo.push", "jira": "jira.issue_updated", "linear": "linear.issue.create", "azure-devops": "azure-devops.git.push",
	"docker-hub": "docker-hub.push", "snyk": "snyk.project_snapshot", "sentry": "sentry.issue.created", "datadog": "datadog.query_alert_monitor",
	"grafana": "grafana.firing", "cloudflare": "cloudflare.tunnel_health_event", "cloudflare-stream": "cloudflare.stream.ready",
	"box": "box.FILE.UPLOADED", "calendly": "calendly.invitee.created", "intercom": "intercom.conversation.user.created",
	"mailgun": "mailgun.failed", "sendgrid": "sendgrid.delivered", "okta": "okta.user.lifecycle.create",
	"sns": "sns.notification", "standard": "user.created", "generic": "webhook.received",
}

func check(t *testing.T, p *orchv1.WebhookPreset, in *orchv1.WebhookVerificationInput, by orchv1.WebhookDeduplication) {
	t.Helper()
	config, fieldErrors := verify.Settings(in)
	require.Empty(t, fieldErrors)
	secret := secret
	if in.GetScheme() == orchv1.WebhookScheme_WEBHOOK_SCHEME_BASIC {
		secret = "ada:" + secret
	}
	v, err := verify.New(config, []string{secret}, nil)
	require.NoError(t, err)
	first, err := v.Verify(t.Context(), signed(t, config, secret, request(p), now), now)
	require.NoError(t, err)

	_, err = v.Verify(t.Context(), request(p), now)
	require.ErrorIs(t, err, verify.ErrUnproven, "unsigned")
	_, err = v.Verify(t.Context(), signed(t, config, strings.ToLower(secret), request(p), now), now)
	require.ErrorIs(t, err, verify.ErrUnproven, "another secret")
	plain := p.GetName() == "gitlab" || in.GetScheme() == orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN || in.GetScheme() == orchv1.WebhookScheme_WEBHOOK_SCHEME_BASIC
	if !plain && p.GetName() != "mailgun" { // Whose signature covers a token alone.
		changed := signed(t, config, secret, request(p), now)
		changed.Raw = append([]byte(nil), changed.Raw...)
		changed.Raw[len(changed.Raw)-2] ^= 1
		changed.Wire = changed.Raw
		_, err = v.Verify(t.Context(), changed, now)
		require.ErrorIs(t, err, verify.ErrUnproven, "a changed body")
	}
	switch p.GetName() {
	case "stripe", "slack", "standard", "gitlab-signed", "linear", "cloudflare-stream", "box", "calendly", "mailgun":
		_, err = v.Verify(t.Context(), signed(t, config, secret, request(p), now.Add(-time.Hour)), now)
		require.ErrorIs(t, err, verify.ErrUnproven, "an old timestamp")
	}
	if by == orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_NONE {
		return
	}
	again := signed(t, config, secret, request(p), now.Add(min(time.Minute, time.Duration(config.GetTolerance())*time.Second)))
	second, err := v.Verify(t.Context(), again, now)
	require.NoError(t, err)
	hook, delivery := uuid.New(), orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID
	id := verify.EventID(hook, delivery, config.GetScheme(), &first, signed(t, config, secret, request(p), now))
	require.NotEqual(t, uuid.Nil, id)
	require.Equal(t, id, verify.EventID(hook, delivery, config.GetScheme(), &second, again), "sent again")
}

func TestFindKnowsThePresets(t *testing.T) {
	t.Parallel()
	p, err := preset.Find(vocabulary.Orch, "github")
	require.NoError(t, err)
	require.Equal(t, "GitHub", p.GetTitle())
	_, err = preset.Find(vocabulary.Orch, "nobody")
	require.ErrorIs(t, err, preset.ErrUnknown)
}
