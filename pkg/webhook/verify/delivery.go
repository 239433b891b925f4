package verify

import (
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// EventID is the id that the event of a delivery gets however often the delivery is sent, so that its duplicates are one
// event wherever they arrive. It is uuid.Nil when the delivery cannot be told from others, and every one makes an event.
//
// The proof is that of the webhook's verification; nil when the request was proven otherwise, by the key of a service
// account. Of those, and of webhooks with the scheme hmac, CloudEvents are known by source and id.
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

// contentName is empty for requests without a body, which are all alike, unless a timestamp tells them apart.
func contentName(proof *Proof, r *receive.Request) string {
	if proof == nil || len(r.Wire) == 0 && !proof.Timed {
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
		return firstOf(named(r.Get("x-github-delivery")), contentName(proof, r))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SHOPIFY:
		return firstOf(named(r.Get("x-shopify-webhook-id")), contentName(proof, r))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB:
		return named(r.Get("idempotency-key"))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS:
		return named(proof.ID)
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE:
		return firstOf(named(member(r, "id")), contentName(proof, r))
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SLACK:
		return firstOf(named(member(r, "event_id")), contentName(proof, r))
	}
	if proof == nil {
		return cloudEventName(r)
	}
	name := firstOf(named(proof.ID), cloudEventName(r))
	if name == "" && proof.Timed {
		name = contentName(proof, r)
	}
	return name
}

// member is a text at the top of a JSON body; empty when there is none.
func member(r *receive.Request, key string) string {
	return bodyObject(r).Text(key)
}

// bodyObject is the JSON object in the body; nil when the body is something else.
func bodyObject(r *receive.Request) *jsontree.Object {
	v, _ := jsontree.EventLimits().Parse(r.Body().Text)
	object, _ := v.(*jsontree.Object)
	return object
}

// cloudEventName is the source and id of a CloudEvent, which together are unique by its specification.
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
