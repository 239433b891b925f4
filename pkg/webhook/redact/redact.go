// Package redact says what of a request may be shown to those who read events: everything but credentials.
//
// A webhook's template sees the request unaltered, and its author decides what goes into the event. The server itself
// puts requests into events: the default payload and failure events. Readers of those events must not learn the
// sender's credentials, nor the webhook's slug and secrets.
package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

// Mask stands where something was removed.
const Mask = "***"

// minSecret is the length in bytes from which on a secret is looked for in text: a shorter one would be found by chance.
const minSecret = 8

// Headers is an object of the header fields, credentials masked.
func Headers(r *receive.Request) *jsontree.Object {
	members := make([]jsontree.Member, 0, len(r.Header))
	for _, f := range r.Header {
		members = append(members, jsontree.Member{Key: f.Name, Value: Header(r, f)})
	}
	return jsontree.NewObject(members...)
}

// Header is the value of a header field, masked when it is a credential.
func Header(r *receive.Request, f receive.Field) string {
	if Credential(f.Name) {
		return Mask
	}
	return Own(r, f.Value)
}

// Text is a text that was made of the request, without the webhook's slug and secrets and the values of credential headers.
func Text(r *receive.Request, text string) string {
	text = Own(r, text)
	for _, f := range r.Header {
		if Credential(f.Name) {
			text = replace(text, f.Value)
		}
	}
	return text
}

// Own is a text without the webhook's own slug and secrets.
func Own(r *receive.Request, text string) string {
	text = replace(text, r.Slug)
	for _, secret := range r.Secrets {
		text = replace(text, secret)
	}
	return text
}

// Cut shortens a text to at most n bytes, between characters, and tells whether it did. Anything that is not a UTF-8 becomes U+FFFD.
func Cut(s string, n int) (string, bool) {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}

// replace masks a secret, plain and as it is written within JSON.
func replace(text, secret string) string {
	if len(secret) < minSecret {
		return text
	}
	text = strings.ReplaceAll(text, secret, Mask)
	quoted := string(jsontoken.AppendString(nil, secret))
	if inner := quoted[1 : len(quoted)-1]; inner != secret {
		text = strings.ReplaceAll(text, inner, Mask)
	}
	return text
}

// Body is the body as templates see it: an object for a form, the value when it is JSON, otherwise a string. JSON that
// nests so deep that no event may hold it is a string here.
func Body(b receive.Body) jsontree.Value {
	if b.Form {
		members := make([]jsontree.Member, len(b.Pairs))
		for i, p := range b.Pairs {
			members[i] = jsontree.Member{Key: p.Key, Value: p.Value}
		}
		return jsontree.NewObject(members...)
	}
	if v, err := jsontree.EventLimits().Parse(b.Text); err == nil {
		return v
	}
	return b.Text
}
