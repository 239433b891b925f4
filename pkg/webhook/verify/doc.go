// Package verify tells whether a request was made by the sender that a webhook is for, and which delivery it is.
//
//	Request ──▶ the scheme's headers ──▶ signature over the bytes as sent ──▶ timestamp in tolerance ──▶ Proof
//	                │ missing                  │ no secret matches                │ too old                 │
//	                └──────────────────────────┴── ErrUnproven ───────────────────┘                         ▼
//	                                                                                    deduplication ──▶ event id
//
// Every scheme but gitlab is an HMAC; what differs is where things stand and what is signed:
//
//	scheme             signature                                      signed                    delivery id
//	github             X-Hub-Signature-256: sha256=<hex>              body                      X-GitHub-Delivery
//	gitlab             X-Gitlab-Token: the secret                     nothing                   Idempotency-Key
//	stripe             Stripe-Signature: t=…,v1=<hex>,…               t.body                    id in the body
//	slack              X-Slack-Signature: v0=<hex>                    v0:t:body                 event_id in the body
//	standard-webhooks  webhook-signature: v1,<base64> …               id.t.body                 webhook-id
//	shopify            X-Shopify-Hmac-Sha256: <base64>                body                      X-Shopify-Webhook-Id
//	hmac               as configured                                  as configured             as configured
//
// The ids of github, gitlab and shopify are not signed. They are believed within a request that is proven: whoever can
// make one may name its delivery. Somebody who captured a request can send it again under another id; a webhook that
// must not take that de-duplicates by content.
//
// A signature may be over the bytes as they were sent or over what was compressed in them. All comparisons take the same
// time wherever the values differ, and what was expected is nowhere told.
package verify
