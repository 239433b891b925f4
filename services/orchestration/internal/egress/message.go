// Package egress sends requests to systems that users chose: the deliveries of events, calls and notifications.
//
//	Message ── Sign ──► Client.Send ──► Response, or an error without the address
//	                        │
//	                        └── addresses: public ones, and the networks of the operator
//
// A redirect is a response. Bodies and headers of responses are read up to a limit.
package egress

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/redact"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Message is a request to another system.
type Message struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	// PublicOnly refuses addresses that are not public, also those that the server's settings permit.
	PublicOnly bool
	// Route is how the message reaches its receiver.
	Route Route
	// SigningSecret is the secret with which each attempt is signed; empty for none.
	SigningSecret string
	// AnyStatus reports that any response is a success; else only a 2xx is.
	AnyStatus bool
	// secret are the headers, by lower-case name, that logs mask whatever their names.
	secret map[string]bool
}

// NewMessage returns a message without headers and body.
func NewMessage(method, address string) *Message {
	return &Message{Method: method, URL: address, Header: http.Header{}, secret: map[string]bool{}}
}

// JSON makes a value the body. The value is built of texts, numbers, lists and objects.
func (m *Message) JSON(v any) *Message {
	m.Body, _ = json.Marshal(v) //nolint:errchkjson // See above.
	m.Header.Set("Content-Type", "application/json")
	return m
}

// Form makes values the body.
func (m *Message) Form(values url.Values) *Message {
	m.Body = []byte(values.Encode())
	m.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return m
}

// descriptive are headers that describe a message. Logs show them; all other headers that an owner sets are secrets.
var descriptive = []string{"accept", "content-encoding", "content-type", "user-agent"}

// SetSecret sets a header of the owner. Unless it describes the message, it is a secret.
func (m *Message) SetSecret(name, value string) {
	m.Header.Set(name, value)
	lower := strings.ToLower(name)
	m.secret[lower] = !slices.Contains(descriptive, lower)
}

// ErrSecret means that a signing secret is not usable. Its text follows the name of the secret, and does not show the secret.
var ErrSecret = errors.New("is not whsec_ and the base64 of at least 8 bytes")

// standard is the scheme of signatures.
var standard = &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS}

// CheckSecret returns ErrSecret unless a secret can sign.
func CheckSecret(secret string) error {
	if len(verify.CheckSecrets(standard, []string{secret})) > 0 {
		return ErrSecret
	}
	return nil
}

// Sign signs a message as Standard Webhooks specifies. All attempts of a message have the same id, by which receivers recognize
// duplicates. The error is ErrSecret.
func (m *Message) Sign(secret, id string, at time.Time) error {
	if err := CheckSecret(secret); err != nil {
		return err
	}
	fields, err := verify.Sign(standard, secret, &receive.Request{Method: m.Method, Raw: m.Body}, id, at)
	if err != nil {
		return ErrSecret
	}
	for _, f := range fields {
		m.Header.Set(f.Name, f.Value)
		delete(m.secret, strings.ToLower(f.Name)) // It replaces a header of the owner.
	}
	return nil
}

// ShownHeaders returns the headers of a message for logs, by lower-case name, with credentials masked.
func (m *Message) ShownHeaders() map[string]string {
	shown := map[string]string{}
	for name, values := range m.Header {
		name = strings.ToLower(name)
		shown[name] = strings.ToValidUTF8(strings.Join(values, ", "), "\ufffd")
		if redact.Credential(name) || m.secret[name] {
			shown[name] = redact.Mask
		}
	}
	return shown
}

// Origin returns scheme, host and port of an address, without its path, which may be a secret. It is empty for an address without them.
func Origin(address string) string {
	target, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return target.Scheme + "://" + target.Host
}

// Receiver returns the origin of the address in a canonical form: in lower case, and always with a port.
func (m *Message) Receiver() string {
	target, err := url.Parse(m.URL)
	if err != nil {
		return ""
	}
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	return target.Scheme + "://" + net.JoinHostPort(strings.ToLower(strings.TrimSuffix(target.Hostname(), ".")), port)
}
