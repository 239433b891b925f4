package verify

import (
	"crypto/sha1" //nolint:gosec // Some senders support nothing better.
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// claim is the unverified content of a request's headers.
type claim struct {
	signatures []string // As the header has them, without prefix.
	timestamp  string   // As the request has it; empty where the scheme has none.
	id         string   // Empty if there is none.
}

// scheme is a signature scheme. It describes both directions: how a request is verified, and how a sender signs one.
type scheme struct {
	// claim parses the headers; an error names the missing one.
	claim func(r *receive.Request) (claim, error)
	// fields are the headers of a signed request, whose claim has one signature.
	fields func(c claim) []receive.Field
	// content returns the signed content before and after the body.
	content func(c claim) (before, after string)
	// alternatives replaces content where the body is not signed as it is: each is a content that the sender may have signed.
	alternatives func(r *receive.Request, body []byte) []signedText
	digest       func() hash.Hash
	encoding     encoding
	// key derives the key of a secret.
	key func(secret string) ([]byte, error)
	// signsID means that the claim's id is signed.
	signsID bool
	// timed means that the claim must have a recent timestamp.
	timed bool
	// formatTime writes a timestamp; nil means Unix seconds.
	formatTime func(at time.Time) string
	// plain means that the header carries the key itself.
	plain bool
	// complete adds the parts of the claim that are in the body; nil for a claim in the header alone.
	complete func(r *receive.Request, c *claim) error
	// stamp puts a claim into the body of a request that is signed; nil for a claim that is in the header.
	stamp func(body []byte, c claim) ([]byte, error)
	// detached means that the signature does not cover the body.
	detached bool
	// publicKey means that the secret is the sender's public key, so only the sender can sign.
	publicKey bool
	// secretForm says which secrets have a key, for the webhook's owner.
	secretForm string
	// certified means that the provider signs with a certificate, so the webhook has no secret. See certified.go.
	certified bool
}

func missing(header string) error { return fmt.Errorf("%w: missing header %s", ErrUnproven, header) }

// header returns the claim of a scheme whose header has only the signature, after a prefix.
func header(name, prefix string) func(*receive.Request) (claim, error) {
	return func(r *receive.Request) (claim, error) {
		value := strings.TrimSpace(r.Get(strings.ToLower(name)))
		if value == "" {
			return claim{}, missing(name)
		}
		signature, ok := strings.CutPrefix(value, prefix)
		if !ok {
			return claim{}, fmt.Errorf("%w: header %s does not start with %q", ErrUnproven, name, prefix)
		}
		return claim{signatures: []string{signature}}, nil
	}
}

// headers is header for a list of signatures, of which one must be valid. Senders that rotate a secret sign with both.
func headers(name, prefix string) func(*receive.Request) (claim, error) {
	return func(r *receive.Request) (claim, error) {
		value := strings.TrimSpace(r.Get(strings.ToLower(name)))
		if value == "" {
			return claim{}, missing(name)
		}
		var c claim
		for part := range strings.SplitSeq(value, ",") {
			if signature, ok := strings.CutPrefix(strings.TrimSpace(part), prefix); ok {
				c.signatures = append(c.signatures, signature)
			}
		}
		if len(c.signatures) == 0 {
			return c, fmt.Errorf("%w: header %s has no signature with prefix %q", ErrUnproven, name, prefix)
		}
		return c, nil
	}
}

// tokenClaim reads the secret from the configured header, and the delivery id.
func tokenClaim(v *orchv1.WebhookVerification) func(*receive.Request) (claim, error) {
	read := header(v.GetHeader(), v.GetPrefix())
	if strings.EqualFold(v.GetHeader(), "authorization") {
		read = authorization(v.GetPrefix())
	}
	return func(r *receive.Request) (claim, error) {
		c, err := read(r)
		if name := v.GetIdHeader(); name != "" {
			c.id = strings.TrimSpace(r.Get(strings.ToLower(name)))
		}
		return c, err
	}
}

// authorization is header for Authorization, which is not among a request's fields. Its scheme has no case.
func authorization(prefix string) func(*receive.Request) (claim, error) {
	return func(r *receive.Request) (claim, error) {
		if r.Authorization == "" {
			return claim{}, missing("Authorization")
		}
		if len(r.Authorization) < len(prefix) || !strings.EqualFold(r.Authorization[:len(prefix)], prefix) {
			return claim{}, fmt.Errorf("%w: header Authorization does not start with %q", ErrUnproven, prefix)
		}
		return claim{signatures: []string{strings.TrimSpace(r.Authorization[len(prefix):])}}, nil
	}
}

func bodyAlone(claim) (before, after string) { return "", "" }

func rawKey(secret string) ([]byte, error) { return []byte(secret), nil }

// encoding is the text form of a signature.
type encoding struct {
	name   string
	encode func([]byte) string
	decode func(string) ([]byte, error)
}

var (
	inHex    = encoding{"hex", hex.EncodeToString, hex.DecodeString}
	inBase64 = encoding{"base64", base64.StdEncoding.EncodeToString, anyBase64}
)

// anyBase64 decodes all four variants of base64.
func anyBase64(s string) ([]byte, error) {
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	return base64.RawStdEncoding.DecodeString(s)
}

func schemeOf(v *orchv1.WebhookVerification) (scheme, error) {
	sha := scheme{content: bodyAlone, digest: sha256.New, encoding: inHex, key: rawKey}
	switch v.GetScheme() {
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_GITHUB:
		sha.claim = header("X-Hub-Signature-256", "sha256=")
		sha.fields = proof("X-Hub-Signature-256: sha256={signature}", githubID+": {id}")
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_GITLAB:
		sha.claim, sha.plain = header("X-Gitlab-Token", ""), true
		sha.fields = proof("X-Gitlab-Token: {signature}", gitlabID+": {id}")
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SHOPIFY:
		sha.claim, sha.encoding = header("X-Shopify-Hmac-Sha256", ""), inBase64
		sha.fields = proof("X-Shopify-Hmac-Sha256: {signature}", shopifyID+": {id}")
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STRIPE:
		return timestamped(sha, "Stripe-Signature", "t", "v1"), nil
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_CALENDLY:
		return timestamped(sha, "Calendly-Webhook-Signature", "t", "v1"), nil
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_CLOUDFLARE_STREAM:
		return timestamped(sha, "Webhook-Signature", "time", "sig1"), nil
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SLACK:
		sha.claim, sha.timed = slackClaim, true
		sha.content = func(c claim) (string, string) { return "v0:" + c.timestamp + ":", "" }
		sha.fields = proof("X-Slack-Signature: v0={signature}", "X-Slack-Request-Timestamp: {timestamp}")
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS:
		sha.claim, sha.signsID, sha.timed, sha.encoding, sha.key = standardClaim, true, true, inBase64, standardKey
		sha.secretForm = "a secret of standard-webhooks is whsec_ and base64"
		sha.content = func(c claim) (string, string) { return c.id + "." + c.timestamp + ".", "" }
		sha.fields = proof("webhook-id: {id}", "webhook-timestamp: {timestamp}", "webhook-signature: v1,{signature}")
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_PAGERDUTY:
		sha.claim = headers("X-PagerDuty-Signature", "v1=")
		sha.fields = proof("X-PagerDuty-Signature: v1={signature}")
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_TWILIO:
		sha.claim, sha.digest, sha.encoding, sha.alternatives = header("X-Twilio-Signature", ""), sha1.New, inBase64, twilioContents
		sha.fields = proof("X-Twilio-Signature: {signature}", twilioID+": {id}")
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_TOKEN:
		sha.claim, sha.plain, sha.fields = tokenClaim(v), true, configuredFields(v)
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_BASIC:
		sha.claim, sha.plain, sha.key = authorization("Basic "), true, basicKey
		sha.fields, sha.secretForm = proof("Authorization: Basic {signature}"), "a secret of basic is a user name, a colon and a password"
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_BOX:
		return box(sha), nil
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_LINEAR:
		return linear(sha), nil
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_MAILGUN:
		return mailgun(sha), nil
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SENDGRID:
		return sendgrid(sha), nil
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_HMAC:
		return hmacScheme(v)
	case orchv1.WebhookScheme_WEBHOOK_SCHEME_SNS:
		return scheme{certified: true}, nil
	default:
		return scheme{}, fmt.Errorf("%w: unknown scheme %d", ErrInvalid, v.GetScheme())
	}
	return sha, nil
}

// timestamped completes a scheme whose header names the time and the signatures, such as "t=1492774577,v1=5257a8…,v1=…,v0=…".
func timestamped(s scheme, header, timestamp, signature string) scheme {
	s.timed = true
	s.claim = func(r *receive.Request) (claim, error) {
		value := r.Get(strings.ToLower(header))
		if value == "" {
			return claim{}, missing(header)
		}
		var c claim
		for part := range strings.SplitSeq(value, ",") {
			switch name, text, _ := strings.Cut(strings.TrimSpace(part), "="); name {
			case timestamp:
				c.timestamp = text
			case signature:
				c.signatures = append(c.signatures, text)
			}
		}
		return c, nil
	}
	s.content = func(c claim) (string, string) { return c.timestamp + ".", "" }
	s.fields = proof(header + ": " + timestamp + "={timestamp}," + signature + "={signature}")
	return s
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

// standardClaim parses the three headers of the Standard Webhooks specification with either of their names.
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
		// A comma joins several lines of one header.
		if version, text, ok := strings.Cut(strings.TrimSuffix(part, ","), ","); ok && version == "v1" {
			c.signatures = append(c.signatures, text)
		}
	}
	return c, nil
}

// standardPrefix may precede a secret of Standard Webhooks, and of Stripe, where it is a part of the key.
const standardPrefix = "whsec_"

// Notations returns the forms in which a text may contain secrets: with their prefix, and without.
func Notations(secrets ...string) []string {
	all := secrets
	for _, secret := range secrets {
		if bare, ok := strings.CutPrefix(secret, standardPrefix); ok {
			all = append(all, bare)
		}
	}
	return all
}

// standardKey decodes "whsec_<base64>"; the prefix is optional.
func standardKey(secret string) ([]byte, error) {
	key, err := anyBase64(strings.TrimPrefix(secret, standardPrefix))
	if err != nil || len(key) == 0 {
		return nil, fmt.Errorf("%w: a secret of standard-webhooks must be base64 after whsec_", ErrInvalid)
	}
	return key, nil
}

// basicKey is the credential of RFC 7617.
func basicKey(secret string) ([]byte, error) {
	if user, _, ok := strings.Cut(secret, ":"); !ok || user == "" {
		return nil, fmt.Errorf("%w: a secret of basic lacks a user name or a colon", ErrInvalid)
	}
	return []byte(base64.StdEncoding.EncodeToString([]byte(secret))), nil
}

// hmacScheme returns the scheme that a webhook's settings define.
func hmacScheme(v *orchv1.WebhookVerification) (scheme, error) {
	s := scheme{key: rawKey, digest: sha256.New, encoding: inHex, timed: v.GetTimestampHeader() != "", fields: configuredFields(v)}
	switch v.GetDigest() {
	case orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA512:
		s.digest = sha512.New
	case orchv1.WebhookDigest_WEBHOOK_DIGEST_SHA1:
		s.digest = sha1.New
	}
	if v.GetEncoding() == orchv1.WebhookEncoding_WEBHOOK_ENCODING_BASE64 {
		s.encoding = inBase64
	}
	read := headers(v.GetHeader(), v.GetPrefix())
	if strings.Contains(v.GetPrefix(), ",") {
		read = header(v.GetHeader(), v.GetPrefix())
	}
	s.signsID = strings.Contains(v.GetSignedContent(), "{id}")
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
			if c.id = strings.TrimSpace(r.Get(strings.ToLower(name))); c.id == "" && s.signsID {
				return c, missing(name)
			}
		}
		return c, nil
	}
	before, after, ok := strings.Cut(v.GetSignedContent(), "{body}")
	if !ok {
		return s, fmt.Errorf("%w: signed_content lacks {body}", ErrInvalid)
	}
	s.content = func(c claim) (string, string) {
		fill := strings.NewReplacer("{id}", c.id, "{timestamp}", c.timestamp)
		return fill.Replace(before), fill.Replace(after)
	}
	return s, nil
}
