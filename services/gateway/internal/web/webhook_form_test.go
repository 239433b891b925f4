package web

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestSettingsOfAWebhookKeepWhatTheFormDoesNotShow changes webhooks whose verification has more than the form.
func TestSettingsOfAWebhookKeepWhatTheFormDoesNotShow(t *testing.T) {
	t.Parallel()
	token := &orchv1.WebhookVerification{
		Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN, Tolerance: 300, SecretCount: 1, Header: proto.String("Authorization"), Prefix: proto.String("Bearer "),
	}
	topics := &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_SNS, Tolerance: 300, TopicArns: []string{"arn:one"}}
	signed := &orchv1.WebhookVerification{
		Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC, Tolerance: 60, SecretCount: 1, Header: proto.String("X-Signature"), SignedContent: proto.String("{timestamp}.{body}"),
		Digest: orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA512.Enum(),
	}
	for name, c := range map[string]struct {
		before *orchv1.WebhookVerification
		form   url.Values
		want   *orchv1.WebhookVerificationInput // nil: not sent.
	}{
		"nothing changes":        {token, url.Values{"scheme": {"token"}}, nil},
		"the topics stay":        {topics, url.Values{"scheme": {"sns"}, "topics": {"arn:one\r\n"}}, nil},
		"a token is replaced":    {token, url.Values{"scheme": {"token"}, "secrets": {"new\r\nold"}}, &orchv1.WebhookVerificationInput{Secrets: []string{"new", "old"}, Header: proto.String("Authorization"), Prefix: proto.String("Bearer "), Tolerance: 300}},
		"a topic is added":       {topics, url.Values{"scheme": {"sns"}, "topics": {"arn:one\r\narn:two"}}, &orchv1.WebhookVerificationInput{TopicArns: []string{"arn:one", "arn:two"}, Tolerance: 300}},
		"all topics are allowed": {topics, url.Values{"scheme": {"sns"}}, &orchv1.WebhookVerificationInput{Tolerance: 300}},
		"an HMAC has a new key": {signed, url.Values{"scheme": {"hmac"}, "secrets": {"new"}}, &orchv1.WebhookVerificationInput{
			Secrets: []string{"new"}, Header: proto.String("X-Signature"), SignedContent: proto.String("{timestamp}.{body}"), Tolerance: 60, Digest: orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA512,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := console()
			webhook := proto.CloneOf(all[orchv1.WebhookService_ReadWebhook_FullMethodName].(*orchv1.Webhook))
			webhook.Verification = c.before
			all[orchv1.WebhookService_ReadWebhook_FullMethodName] = webhook
			all[orchv1.WebhookService_UpdateWebhook_FullMethodName] = &emptypb.Empty{}
			s := &stub{answers: all}
			c.form.Set("action", "webhook-edit")
			c.form.Set("name", "pushes")
			c.form.Set("silence", "7200")
			got := visit(t, siteWith(t, s, nil), "/webhooks/webhook/"+someID+"/edit", c.form)
			require.Equal(t, 303, got.Code, got.Body.String())
			update := s.last[orchv1.WebhookService_UpdateWebhook_FullMethodName].(*orchv1.UpdateWebhookRequest)
			require.EqualValues(t, 7200, update.GetWebhook().GetMaxSilence())
			sent := update.GetWebhook().GetVerification()
			if c.want == nil {
				require.NotContains(t, update.GetUpdateMask().GetPaths(), "verification")
				return
			}
			require.Equal(t, c.before.GetScheme(), sent.GetScheme())
			require.Equal(t, c.want.GetSecrets(), sent.GetSecrets())
			require.Equal(t, c.want.GetTopicArns(), sent.GetTopicArns())
			require.Equal(t, c.want.GetTolerance(), sent.GetTolerance())
			require.Equal(t, c.want.GetHeader()+c.want.GetPrefix()+c.want.GetSignedContent(), sent.GetHeader()+sent.GetPrefix()+sent.GetSignedContent())
			if c.want.Digest != 0 {
				require.Equal(t, c.want.GetDigest(), sent.GetDigest())
			}
		})
	}
}
