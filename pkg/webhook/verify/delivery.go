package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// The headers with the id of a delivery, of schemes that do not sign it.
const (
	githubID  = "X-GitHub-Delivery"
	gitlabID  = "Idempotency-Key"
	shopifyID = "X-Shopify-Webhook-Id"
	twilioID  = "I-Twilio-Idempotency-Token" // The same in all retries.
)

// EventID returns the id of a delivery's event. It is the same for every repetition of the delivery, so duplicates
// become one event wherever they arrive. It is uuid.Nil when the delivery is not identifiable: every repetition then
// becomes an event.
//
// Only signed data distinguishes deliveries: whoever captured a request could send it again with other headers. An id
// that is not signed counts where nothing is signed, and where a signed timestamp bounds repetitions.
//
// proof is that of the webhook's verification, or nil when the key of a service account proved the request. Without a
// proof, and for the scheme hmac, CloudEvents are identified by source and id.
func EventID(hook uuid.UUID, by orchv1.WebhookDeduplication, scheme orchv1.WebhookScheme, proof *Proof, r *receive.Request) uuid.UUID {
	var name string
	switch by {
	case orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_CONTENT:
		name = contentName(proof, r)
	case orchv1.WebhookDeduplication_WEBHOOK_DEDUPLICATION_DELIVERY_ID:
		name = deliveryName(scheme, proof, r)
	}
	if name == "" {
		return uuid.Nil
	}
	return uuid.NewSHA1(hook, []byte(name))
}

// contentName is empty for requests without a body, because they are all alike unless something else is signed.
func contentName(proof *Proof, r *receive.Request) string {
	if proof == nil || proof.Content == [len(proof.Content)]byte{} || len(r.Wire) == 0 && !proof.Timed && !proof.Addressed {
		return ""
	}
	return "content\n" + hex.EncodeToString(proof.Content[:])
}

func deliveryName(scheme orchv1.WebhookScheme, proof *Proof, r *receive.Request) string {
	named := func(id string) string {
		if id = strings.TrimSpace(id); id == "" {
			return ""
		}
		return scheme.String() + "\n" + id
	}
	firstOf := func(names ...string) string {
		for _, name := range names {
			if name != "" {
				return name
			}
		}
		return ""
	}
	switch scheme {
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB:
		return firstOf(contentName(proof, r), named(r.Get(strings.ToLower(githubID))))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SHOPIFY:
		return firstOf(contentName(proof, r), named(r.Get(strings.ToLower(shopifyID))))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO:
		return firstOf(contentName(proof, r), named(r.Get(strings.ToLower(twilioID))))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB:
		return named(r.Get(strings.ToLower(gitlabID)))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS:
		return named(proof.ID)
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE:
		return firstOf(named(signedObject(r).Text("id")), contentName(proof, r))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SLACK:
		return firstOf(named(signedObject(r).Text("event_id")), contentName(proof, r))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_BOX: // The header's id changes when Box sends again.
		return firstOf(named(signedObject(r).Text("id")), contentName(proof, r))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_CALENDLY, orchv1.WebhookScheme_WEBHOOK_SCHEME_CLOUDFLARE_STREAM,
		orchv1.WebhookScheme_WEBHOOK_SCHEME_SENDGRID: // Each attempt has a timestamp of its own, and the body no id.
		digest := sha256.Sum256(r.Raw) // A compression that somebody else chose distinguishes no deliveries.
		return named(hex.EncodeToString(digest[:]))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_PAGERDUTY:
		return firstOf(named(signedObject(r).Object("event").Text("id")), contentName(proof, r))
	}
	unsigned := firstOf(cloudEventName(r), eventGridName(r))
	switch {
	case proof == nil:
		return unsigned
	case proof.SignedID:
		return named(proof.ID)
	case scheme == orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC && !proof.Timed:
		return firstOf(contentName(proof, r), named(proof.ID), unsigned)
	}
	name := firstOf(named(proof.ID), unsigned)
	if name == "" && proof.Timed {
		name = contentName(proof, r)
	}
	return name
}

// signedObject returns the JSON object that the signed bytes of a body are, whatever their content type says; nil if they
// are none.
func signedObject(r *receive.Request) *jsontree.Object {
	v, _ := jsontree.EventLimits().Parse(string(r.Raw))
	object, _ := v.(*jsontree.Object)
	return object
}

// bodyObject returns the JSON object in the body; nil if the body is not an object.
func bodyObject(r *receive.Request) *jsontree.Object {
	v, _ := jsontree.EventLimits().Parse(r.Body().Text)
	object, _ := v.(*jsontree.Object)
	return object
}

// eventGridName returns the topic and id of an Event Grid event that is delivered alone.
func eventGridName(r *receive.Request) string {
	if r.Get("aeg-event-type") == "" {
		return ""
	}
	v, _ := jsontree.EventLimits().Parse(r.Body().Text)
	list, _ := v.(jsontree.List)
	if len(list) != 1 {
		return ""
	}
	event, _ := list[0].(*jsontree.Object)
	if id := event.Text("id"); id != "" {
		return event.Text("topic") + "\n" + id
	}
	return ""
}

// cloudEventName returns the source and id of a CloudEvent, which together are unique by its specification.
func cloudEventName(r *receive.Request) string {
	source, id := r.Get("ce-source"), r.Get("ce-id")
	if r.Get("ce-specversion") == "" {
		if r.Method == http.MethodGet || len(r.Raw) == 0 {
			return ""
		}
		event := bodyObject(r)
		if event.Text("specversion") == "" {
			return ""
		}
		source, id = event.Text("source"), event.Text("id")
	}
	if source == "" || id == "" {
		return ""
	}
	return source + "\n" + id
}
