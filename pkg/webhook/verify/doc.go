// Package verify authenticates the sender of a webhook request and identifies the delivery.
//
//	Request ──▶ the scheme's headers ──▶ signature over the bytes as sent ──▶ timestamp in tolerance ──▶ Proof
//	                │ missing                  │ no secret matches                │ too old                 │
//	                └──────────────────────────┴── ErrUnproven ───────────────────┘                         ▼
//	                                                                                    deduplication ──▶ event id
//
// Every scheme except gitlab, token, basic, sendgrid and sns is an HMAC; they differ in their headers and in the signed content:
//
//	scheme             signature                                      signed                    delivery id
//	github             X-Hub-Signature-256: sha256=<hex>              body                      X-GitHub-Delivery
//	gitlab             X-Gitlab-Token: the secret                     nothing                   Idempotency-Key
//	stripe             Stripe-Signature: t=…,v1=<hex>,…               t.body                    id in the body
//	slack              X-Slack-Signature: v0=<hex>                    v0:t:body                 event_id in the body
//	standard-webhooks  webhook-signature: v1,<base64> …               id.t.body                 webhook-id
//	shopify            X-Shopify-Hmac-Sha256: <base64>                body                      X-Shopify-Webhook-Id
//	pagerduty          X-PagerDuty-Signature: v1=<hex>,v1=…            body                      event.id in the body
//	twilio             X-Twilio-Signature: <base64>                   URL and sorted form       I-Twilio-Idempotency-Token
//	calendly           Calendly-Webhook-Signature: t=…,v1=<hex>       t.body                    the body
//	cloudflare-stream  Webhook-Signature: time=…,sig1=<hex>           time.body                 the body
//	box                BOX-SIGNATURE-PRIMARY, -SECONDARY: <base64>    body and timestamp        id in the body
//	linear             Linear-Signature: <hex>                        body, with its timestamp  Linear-Delivery
//	mailgun            signature in the body: <hex>                   timestamp and token       the token
//	sendgrid           X-Twilio-Email-Event-…-Signature: ECDSA        timestamp and body        the body
//	basic              Authorization: Basic <base64>                  nothing                   none
//	token              as configured: the secret behind a prefix      nothing                   as configured
//	hmac               as configured                                  as configured             as configured
//	sns                Signature in the body: RSA, by certificate     named fields of the body  MessageId
//
// The ids of github, gitlab, shopify and twilio are not signed, nor is that of token, and that of hmac only if
// signed_content names it. They are trusted within a verified request: a sender that can sign a request may name its
// delivery. An attacker with a captured request can repeat it with another id; a webhook that must exclude this
// deduplicates by content.
//
// A signature may cover the bytes as sent or the decompressed body. All comparisons take constant time, and no message
// reveals the expected value.
package verify
