package verify

import (
	"crypto/sha1" //nolint:gosec // Some senders sign with nothing better.
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// claim is what a request says of itself, unproven.
type claim struct {
	signatures []string // As the header has them, without prefix.
	timestamp  string   // Unix seconds; empty where the scheme has none.
	id         string   // Empty where the scheme signs none.
}

// scheme is a way of signing.
type scheme struct {
	// claim reads the headers; an error names what is missing.
	claim func(r *receive.Request) (claim, error)
	// content is what is signed before and after the body.
	content func(c claim) (before, after string)
	digest  func() hash.Hash
	decode  func(string) ([]byte, error)
	// key makes the key of a secret.
	key func(secret string) ([]byte, error)
	// timed tells that the claim's timestamp must be there and fresh.
	timed bool
	// plain tells that the header carries the secret itself.
	plain bool
}

func missing(header string) error { return fmt.Errorf("%w: it has no header %s", ErrUnproven, header) }

// header is the claim of a scheme whose signature is all that a header has, behind a prefix.
func header(name, prefix string) func(*receive.Request) (claim, error) {
	return func(r *receive.Request) (claim, error) {
		value := strings.TrimSpace(r.Get(strings.ToLower(name)))
		if value == "" {
			return claim{}, missing(name)
		}
		signature, ok := strings.CutPrefix(value, prefix)
		if !ok {
			return claim{}, fmt.Errorf("%w: its header %s does not begin with %q", ErrUnproven, name, prefix)
		}
		return claim{signatures: []string{signature}}, nil
	}
}

func bodyAlone(claim) (before, after string) { return "", "" }

func rawKey(secret string) ([]byte, error) { return []byte(secret), nil }

// anyBase64 decodes all four kinds of base64.
func anyBase64(s string) ([]byte, error) {
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	return base64.RawStdEncoding.DecodeString(s)
}

func schemeOf(v *orchv1.WebhookVerification) (scheme, error) {
	sha := scheme{content: bodyAlone, digest: sha256.New, decode: hex.DecodeString, key: rawKey}
	switch v.GetScheme() {
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB:
		sha.claim = header("X-Hub-Signature-256", "sha256=")
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB:
		sha.claim, sha.plain = header("X-Gitlab-Token", ""), true
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SHOPIFY:
		sha.claim, sha.decode = header("X-Shopify-Hmac-Sha256", ""), anyBase64
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE:
		sha.claim, sha.timed = stripeClaim, true
		sha.content = func(c claim) (string, string) { return c.timestamp + ".", "" }
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SLACK:
		sha.claim, sha.timed = slackClaim, true
		sha.content = func(c claim) (string, string) { return "v0:" + c.timestamp + ":", "" }
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS:
		sha.claim, sha.timed, sha.decode, sha.key = standardClaim, true, anyBase64, standardKey
		sha.content = func(c claim) (string, string) { return c.id + "." + c.timestamp + ".", "" }
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC:
		return hmacScheme(v)
	default:
		return scheme{}, fmt.Errorf("%w: scheme %d is not known", ErrInvalid, v.GetScheme())
	}
	return sha, nil
}

// stripeClaim reads "t=1492774577,v1=5257a8…,v1=…,v0=…".
func stripeClaim(r *receive.Request) (claim, error) {
	value := r.Get("stripe-signature")
	if value == "" {
		return claim{}, missing("Stripe-Signature")
	}
	var c claim
	for part := range strings.SplitSeq(value, ",") {
		switch name, text, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "t":
			c.timestamp = text
		case "v1":
			c.signatures = append(c.signatures, text)
		}
	}
	return c, nil
}

func slackClaim(r *receive.Request) (claim, error) {
	c, err := header("X-Slack-Signature", "v0=")(r)
	if err != nil {
		return c, err
	}
	if c.timestamp = strings.TrimSpace(r.Get("x-slack-request-timestamp")); c.timestamp == "" {
		return c, missing("X-Slack-Request-Timestamp")
	}
	return c, nil
}

// standardClaim reads the three headers of the Standard Webhooks specification under either of their names.
func standardClaim(r *receive.Request) (claim, error) {
	prefix := "webhook-"
	if r.Get("webhook-signature") == "" && r.Get("svix-signature") != "" {
		prefix = "svix-"
	}
	c := claim{id: strings.TrimSpace(r.Get(prefix + "id")), timestamp: strings.TrimSpace(r.Get(prefix + "timestamp"))}
	for _, name := range []string{"id", "timestamp", "signature"} {
		if r.Get(prefix+name) == "" {
			return c, missing(prefix + name)
		}
	}
	for _, part := range strings.Fields(r.Get(prefix + "signature")) {
		// Lines of one header are joined with a comma.
		if version, text, ok := strings.Cut(strings.TrimSuffix(part, ","), ","); ok && version == "v1" {
			c.signatures = append(c.signatures, text)
		}
	}
	return c, nil
}

// standardPrefix may stand before a secret of Standard Webhooks, and of Stripe, where it is a part of the key.
const standardPrefix = "whsec_"

// Notations are the forms in which secrets may be met: with their prefix, and without.
func Notations(secrets ...string) []string {
	all := secrets
	for _, secret := range secrets {
		if bare, ok := strings.CutPrefix(secret, standardPrefix); ok {
			all = append(all, bare)
		}
	}
	return all
}

// standardKey decodes "whsec_<base64>"; the prefix may be missing.
func standardKey(secret string) ([]byte, error) {
	key, err := anyBase64(strings.TrimPrefix(secret, standardPrefix))
	if err != nil || len(key) == 0 {
		return nil, fmt.Errorf("%w: a secret of standard-webhooks is whsec_ and base64", ErrInvalid)
	}
	return key, nil
}

// hmacScheme is the scheme that a webhook describes itself.
func hmacScheme(v *orchv1.WebhookVerification) (scheme, error) {
	s := scheme{key: rawKey, digest: sha256.New, decode: hex.DecodeString, timed: v.GetTimestampHeader() != ""}
	switch v.GetDigest() {
	case orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA512:
		s.digest = sha512.New
	case orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA1:
		s.digest = sha1.New
	}
	if v.GetEncoding() == orchv1.WebhookEncoding_WEBHOOK_ENCODING_BASE64 {
		s.decode = anyBase64
	}
	read := header(v.GetHeader(), v.GetPrefix())
	signsID := strings.Contains(v.GetSignedContent(), "{id}")
	s.claim = func(r *receive.Request) (claim, error) {
		c, err := read(r)
		if err != nil {
			return c, err
		}
		if name := v.GetTimestampHeader(); name != "" {
			if c.timestamp = strings.TrimSpace(r.Get(strings.ToLower(name))); c.timestamp == "" {
				return c, missing(name)
			}
		}
		if name := v.GetIdHeader(); name != "" {
			if c.id = strings.TrimSpace(r.Get(strings.ToLower(name))); c.id == "" && signsID {
				return c, missing(name)
			}
		}
		return c, nil
	}
	before, after, ok := strings.Cut(v.GetSignedContent(), "{body}")
	if !ok {
		return s, fmt.Errorf("%w: signed_content does not name {body}", ErrInvalid)
	}
	s.content = func(c claim) (string, string) {
		fill := strings.NewReplacer("{id}", c.id, "{timestamp}", c.timestamp)
		return fill.Replace(before), fill.Replace(after)
	}
	return s, nil
}
