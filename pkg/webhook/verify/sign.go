package verify

import (
	"crypto/hmac"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Sign returns the header fields with which a sender proves a request: those of the signature, of the time and of the
// delivery id. It needs the request's body, and for twilio its Host and URI. Of a scheme whose proof is in the body, it replaces r.Raw.
// The error wraps ErrInvalid.
func Sign(config *orchv1.WebhookVerification, secret string, r *receive.Request, id string, at time.Time) ([]receive.Field, error) {
	s, err := schemeOf(config)
	if err != nil {
		return nil, err
	}
	if s.certified || s.publicKey {
		return nil, fmt.Errorf("%w: only the provider can sign by this scheme, with its private key", ErrInvalid)
	}
	c := claim{id: id, timestamp: s.timestamp(at)}
	key, err := s.key(secret)
	if err != nil {
		return nil, err
	}
	if err := s.stampBody(r, c); err != nil {
		return nil, err
	}
	value := string(key)
	if !s.plain {
		texts := s.texts(r, r.Raw, c)
		if len(texts) == 0 {
			return nil, fmt.Errorf("%w: the scheme cannot sign this request", ErrInvalid)
		}
		mac := hmac.New(s.digest, key)
		texts[0].writeTo(mac)
		value = s.encoding.encode(mac.Sum(nil))
	}
	c.signatures = []string{value}
	if s.detached {
		if err := s.stampBody(r, c); err != nil {
			return nil, err
		}
	}
	return s.fields(c), nil
}

// stampBody puts a claim into the body of a request, for schemes whose claim is in the body.
func (s scheme) stampBody(r *receive.Request, c claim) (err error) {
	if s.stamp != nil {
		r.Raw, err = s.stamp(r.Raw, c)
	}
	return err
}

// timestamp returns a time in the form of the scheme, in Unix seconds by default.
func (s scheme) timestamp(at time.Time) string {
	if s.formatTime != nil {
		return s.formatTime(at)
	}
	return strconv.FormatInt(at.Unix(), 10)
}

// proof returns the fields of a scheme by their lines, each a name, a colon and a value with {signature}, {id} and {timestamp}.
func proof(lines ...string) func(claim) []receive.Field {
	return func(c claim) []receive.Field {
		fill := strings.NewReplacer("{signature}", c.signatures[0], "{id}", c.id, "{timestamp}", c.timestamp)
		fields := make([]receive.Field, len(lines))
		for i, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			fields[i] = receive.Field{Name: name, Value: fill.Replace(value)}
		}
		return fields
	}
}

// configuredFields returns the fields of a scheme that a webhook's settings describe.
func configuredFields(v *orchv1.WebhookVerification) func(claim) []receive.Field {
	return func(c claim) []receive.Field {
		fields := []receive.Field{{Name: v.GetHeader(), Value: v.GetPrefix() + c.signatures[0]}}
		if name := v.GetTimestampHeader(); name != "" {
			fields = append(fields, receive.Field{Name: name, Value: c.timestamp})
		}
		if name := v.GetIdHeader(); name != "" {
			fields = append(fields, receive.Field{Name: name, Value: c.id})
		}
		return fields
	}
}

// CredentialHeaders returns the lower-case names of the headers by which senders prove themselves: with a secret, or with a
// signature, which whoever knows it could send again with the body.
func CredentialHeaders(config *orchv1.WebhookVerification) []string {
	s, err := schemeOf(config)
	if err != nil || s.fields == nil {
		return nil
	}
	const marker = "{credential}"
	var names []string
	for _, f := range s.fields(claim{signatures: []string{marker}}) {
		if strings.Contains(f.Value, marker) {
			names = append(names, strings.ToLower(f.Name))
		}
	}
	if config.GetScheme() == orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS {
		names = append(names, "svix-signature") // See standardClaim.
	}
	return names
}
