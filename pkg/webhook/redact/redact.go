// Package redact removes credentials from requests before readers of events see them.
//
// A webhook's template receives the request without the headers that prove its sender, and its author decides what the
// event contains. The server itself adds requests to events: in the default payload and in failure events. Readers of
// those events must not learn the sender's credentials, nor the webhook's slug and secrets.
package redact

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

// Mask replaces removed text.
const Mask = "***"

// minSecret is the minimum length in bytes of secrets that are searched for in text: shorter ones would match by
// chance.
const minSecret = 8

// Headers returns the header fields as an object, with masked credentials.
func Headers(r *receive.Request) *jsontree.Object {
	members := make([]jsontree.Member, 0, len(r.Header))
	for _, f := range r.Header {
		members = append(members, jsontree.Member{Key: f.Name, Value: Header(r, f)})
	}
	return jsontree.NewObject(members...)
}

// Header returns the value of a header field, masked if it is a credential.
func Header(r *receive.Request, f receive.Field) string {
	if masks(r, f.Name) {
		return Mask
	}
	return withoutQueries(Own(r, f.Value))
}

// masks reports whether the value of a header is a credential: by its name, or because it proves the sender to this webhook.
// Of an earlier secret only the latter is known.
func masks(r *receive.Request, name string) bool { return r.Hides(name) || Credential(name) }

// address is a URL with a query or a fragment in a text, up to either.
var address = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s?#"'<>]*)[?#][^\s"'<>]*`)

// withoutQueries removes the queries of addresses, which often contain credentials, from a header's value.
func withoutQueries(value string) string {
	if path, _, ok := strings.Cut(value, "?"); ok && strings.HasPrefix(value, "/") {
		return path
	}
	return address.ReplaceAllString(value, "$1")
}

// Text removes the webhook's slug and secrets, and the values of credential headers, from a text that was made from the
// request.
func Text(r *receive.Request, text string) string {
	text = Own(r, text)
	for _, f := range r.Header {
		if masks(r, f.Name) {
			text = replace(text, f.Value)
		}
	}
	return text
}

// Own removes the webhook's own slug and secrets from a text.
func Own(r *receive.Request, text string) string {
	text = replace(text, r.Slug)
	for _, secret := range r.Secrets {
		text = replace(text, secret)
	}
	return text
}

// Cut shortens a text to at most n bytes, between characters, and reports whether it did. Invalid UTF-8 becomes U+FFFD.
func Cut(s string, n int) (string, bool) {
	s, cut := before(s, n)
	s, again := before(strings.ToValidUTF8(s, "\ufffd"), n) // Each invalid byte becomes three.
	return s, cut || again
}

// before returns the characters of s that end within its first n bytes, and whether there are more.
func before(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for i := n; i > max(0, n-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i], true
		}
	}
	return s[:n], true // No text has so many bytes in a character.
}

// replace masks a secret, plain and escaped as in JSON.
func replace(text, secret string) string {
	if len(secret) < minSecret {
		return text
	}
	text = strings.ReplaceAll(text, secret, Mask)
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		if escaped != secret {
			text = strings.ReplaceAll(text, escaped, Mask)
		}
	}
	quoted := string(jsontoken.AppendString(nil, secret))
	if inner := quoted[1 : len(quoted)-1]; inner != secret {
		text = strings.ReplaceAll(text, inner, Mask)
	}
	return text
}

// Body returns the body as templates see it: an object for a form, the value if it is JSON, otherwise a string. JSON
// that nests deeper than events permit becomes a string.
func Body(b receive.Body) jsontree.Value {
	if b.Form {
		members := make([]jsontree.Member, len(b.Pairs))
		for i, p := range b.Pairs {
			members[i] = jsontree.Member{Key: p.Key, Value: p.Value}
			if f := p.File; f != nil {
				members[i].Value = jsontree.NewObject(jsontree.Member{Key: "name", Value: f.Name}, jsontree.Member{Key: "type", Value: f.Type},
					jsontree.Member{Key: "size", Value: json.Number(strconv.FormatInt(f.Size, 10))}, jsontree.Member{Key: "sha256", Value: f.SHA256})
			}
		}
		return jsontree.NewObject(members...)
	}
	if v, err := jsontree.EventLimits().Parse(b.Text); err == nil {
		return v
	}
	return b.Text
}
