package verify

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Sign returns the header fields with which a sender proves a request: those of the signature, of the time and of the
// delivery id. It needs the request's body, and for twilio its Host and URI. The error wraps ErrInvalid.
func Sign(config *orchv1.WebhookVerification, secret string, r *receive.Request, id string, at time.Time) ([]receive.Field, error) {
	s, err := schemeOf(config)
	if err != nil {
		return nil, err
	}
	c := claim{id: id, timestamp: strconv.FormatInt(at.Unix(), 10)}
	value := secret
	if !s.plain {
		key, err := s.key(secret)
		if err != nil {
			return nil, err
		}
		texts := s.texts(r, r.Raw, c)
		if len(texts) == 0 {
			return nil, fmt.Errorf("%w: the scheme cannot sign this request", ErrInvalid)
		}
		mac := hmac.New(s.digest, key)
		texts[0].writeTo(mac)
		if value = hex.EncodeToString(mac.Sum(nil)); inBase64(config) {
			value = base64.StdEncoding.EncodeToString(mac.Sum(nil))
		}
	}
	return proofFields(config, c, value), nil
}

func inBase64(config *orchv1.WebhookVerification) bool {
	switch config.GetScheme() {
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SHOPIFY, orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS,
		orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO:
		return true
	}
	return config.GetEncoding() == orchv1.WebhookEncoding_WEBHOOK_ENCODING_BASE64
}

// proofFields puts a signature or a token where its scheme expects it.
func proofFields(config *orchv1.WebhookVerification, c claim, value string) []receive.Field {
	switch config.GetScheme() {
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB:
		return []receive.Field{{Name: "X-Hub-Signature-256", Value: "sha256=" + value}, {Name: "X-GitHub-Delivery", Value: c.id}}
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB:
		return []receive.Field{{Name: "X-Gitlab-Token", Value: value}, {Name: "Idempotency-Key", Value: c.id}}
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE:
		return []receive.Field{{Name: "Stripe-Signature", Value: "t=" + c.timestamp + ",v1=" + value}}
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SLACK:
		return []receive.Field{{Name: "X-Slack-Signature", Value: "v0=" + value}, {Name: "X-Slack-Request-Timestamp", Value: c.timestamp}}
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS:
		return []receive.Field{
			{Name: "webhook-id", Value: c.id}, {Name: "webhook-timestamp", Value: c.timestamp}, {Name: "webhook-signature", Value: "v1," + value},
		}
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SHOPIFY:
		return []receive.Field{{Name: "X-Shopify-Hmac-Sha256", Value: value}, {Name: "X-Shopify-Webhook-Id", Value: c.id}}
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_PAGERDUTY:
		return []receive.Field{{Name: "X-PagerDuty-Signature", Value: "v1=" + value}}
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO:
		return []receive.Field{{Name: "X-Twilio-Signature", Value: value}, {Name: twilioID, Value: c.id}}
	}
	fields := []receive.Field{{Name: config.GetHeader(), Value: config.GetPrefix() + value}}
	if name := config.GetTimestampHeader(); name != "" {
		fields = append(fields, receive.Field{Name: name, Value: c.timestamp})
	}
	if name := config.GetIdHeader(); name != "" {
		fields = append(fields, receive.Field{Name: name, Value: c.id})
	}
	return fields
}
