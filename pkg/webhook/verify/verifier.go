package verify

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Only its size.
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"time"

	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var (
	// ErrUnproven is wrapped when a request does not prove its sender. The message is for the webhook's owner.
	ErrUnproven = errors.New("request is not authenticated")
	// ErrInvalid is wrapped when a verification is not usable as configured.
	ErrInvalid = errors.New("unusable verification")
)

// Verifier verifies the requests of one webhook. It is safe for concurrent use.
type Verifier struct {
	config    *orchv1.WebhookVerification
	scheme    scheme
	keys      [][]byte
	tolerance time.Duration

	certificates Certificates
}

// Proof identifies a verified request.
type Proof struct {
	// ID is the id in the scheme's header; empty if there is none. SignedID reports that it is a part of Content.
	ID       string
	SignedID bool
	// Content is a digest of the signed content; of the body for a scheme that signs nothing.
	Content [sha256.Size]byte
	// Timed and Addressed report that a timestamp, or the URL, is a part of Content.
	Timed, Addressed bool
	// ConfirmURL is a signed URL whose retrieval confirms a subscription; empty for none.
	ConfirmURL string
}

// New returns a verifier, which retains config. Schemes without secrets need the certificates, which may otherwise be nil.
// The error wraps ErrInvalid.
func New(config *orchv1.WebhookVerification, secrets []string, certificates Certificates) (*Verifier, error) {
	s, err := schemeOf(config)
	if err != nil {
		return nil, err
	}
	v := &Verifier{
		config: config, scheme: s, tolerance: time.Duration(config.GetTolerance()) * time.Second, certificates: certificates,
	}
	if s.certified {
		if certificates == nil {
			return nil, fmt.Errorf("%w: no source of certificates", ErrInvalid)
		}
		return v, nil
	}
	for _, secret := range secrets {
		key, err := s.key(secret)
		if err != nil {
			return nil, err
		}
		if len(key) == 0 {
			return nil, fmt.Errorf("%w: empty secret", ErrInvalid)
		}
		v.keys = append(v.keys, key)
	}
	if len(v.keys) == 0 {
		return nil, fmt.Errorf("%w: no secret", ErrInvalid)
	}
	return v, nil
}

// Scheme returns the verifier's scheme.
func (v *Verifier) Scheme() orchv1.WebhookScheme { return v.config.GetScheme() }

// VerifyHeader checks the header of a request, before its body is read: a signature is present and recent, or a token is a secret of
// the webhook. So the body of a request that fails is never read. The error wraps ErrUnproven.
func (v *Verifier) VerifyHeader(r *receive.Request, now time.Time) error {
	_, err := v.claim(r, now)
	return err
}

// claim returns the claim of a request, checked as far as its header allows. Certified schemes have none.
func (v *Verifier) claim(r *receive.Request, now time.Time) (claim, error) {
	if v.scheme.certified {
		return claim{}, notRaw(r)
	}
	c, err := v.scheme.claim(r)
	if err != nil {
		return claim{}, err
	}
	if v.scheme.timed && v.scheme.complete == nil {
		if err := v.fresh(c.timestamp, now); err != nil {
			return claim{}, err
		}
	}
	if v.scheme.plain {
		return c, v.compare(c)
	}
	return c, nil
}

// complete adds the parts of a claim that are in the body, and checks its time.
func (v *Verifier) complete(r *receive.Request, c *claim, now time.Time) error {
	if v.scheme.complete == nil {
		return nil
	}
	if err := v.scheme.complete(r, c); err != nil {
		return err
	}
	return v.fresh(c.timestamp, now)
}

// Waits reports whether Verify may wait for the certificate of a provider.
func (v *Verifier) Waits() bool { return v.scheme.certified }

// Verify returns the proof of a request whose body was read, or an error that wraps ErrUnproven or ErrUnavailable. Only
// schemes with certificates wait, and they honour ctx.
func (v *Verifier) Verify(ctx context.Context, r *receive.Request, now time.Time) (Proof, error) {
	c, err := v.claim(r, now)
	switch {
	case err != nil:
		return Proof{}, err
	case v.scheme.certified:
		return v.certified(ctx, r, now)
	case v.scheme.plain:
		return Proof{ID: c.id, Content: sha256.Sum256(r.Wire)}, nil
	}
	if err := v.complete(r, &c, now); err != nil {
		return Proof{}, err
	}
	if proof, ok := v.signed(r, r.Wire, c); ok {
		return proof, nil
	}
	if len(r.Wire) != len(r.Raw) {
		if proof, ok := v.signed(r, r.Raw, c); ok {
			return proof, nil
		}
	}
	return Proof{}, fmt.Errorf("%w: its signature matches no secret of the webhook: %s", ErrUnproven, v.explain(r, c))
}

// millisecondsFrom is the smallest number that means a timestamp in milliseconds, which some senders use.
const millisecondsFrom = 20_000_000_000

// fresh checks a timestamp, in Unix seconds, in milliseconds, or of RFC 3339.
func (v *Verifier) fresh(text string, now time.Time) error {
	at, err := time.Parse(time.RFC3339, text)
	if seconds, notNumber := strconv.ParseInt(text, 10, 64); notNumber == nil {
		at, err = time.Unix(seconds, 0), nil
		if seconds >= millisecondsFrom {
			at = time.UnixMilli(seconds)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: its timestamp is neither a number of seconds nor of RFC 3339", ErrUnproven)
	}
	if at.Before(now.Add(-v.tolerance)) || at.After(now.Add(v.tolerance)) {
		return fmt.Errorf("%w: its timestamp is more than %s from now", ErrUnproven, v.tolerance)
	}
	return nil
}

// compare verifies a secret that is sent as it is. It compares digests, so timing does not even reveal lengths.
func (v *Verifier) compare(c claim) error {
	sent, good := sha256.Sum256([]byte(c.signatures[0])), 0
	for _, key := range v.keys {
		digest := sha256.Sum256(key)
		good |= subtle.ConstantTimeCompare(sent[:], digest[:])
	}
	if good == 0 {
		return fmt.Errorf("%w: its token is not a secret of the webhook", ErrUnproven)
	}
	return nil
}

// signedText is what a signature covers.
type signedText struct {
	before string
	body   []byte
	after  string
}

// texts returns what a sender may have signed: one text, unless the scheme has alternatives.
func (s scheme) texts(r *receive.Request, body []byte, c claim) []signedText {
	if s.detached {
		body = nil
	}
	if s.alternatives == nil {
		before, after := s.content(c)
		return []signedText{{before, body, after}}
	}
	return s.alternatives(r, body)
}

// writeTo adds the text to a hash, which never fails.
func (t signedText) writeTo(h hash.Hash) {
	_, _ = io.WriteString(h, t.before)
	_, _ = h.Write(t.body)
	_, _ = io.WriteString(h, t.after)
}

// signed reports whether one of the signatures covers the body with one of the keys.
func (v *Verifier) signed(r *receive.Request, body []byte, c claim) (Proof, bool) {
	for _, text := range v.scheme.texts(r, body, c) {
		if v.covers(text, c) {
			content := sha256.New()
			text.writeTo(content)
			proof := Proof{ID: c.id, SignedID: v.scheme.signsID, Timed: v.scheme.timed, Addressed: v.scheme.alternatives != nil}
			content.Sum(proof.Content[:0])
			return proof, true
		}
	}
	return Proof{}, false
}

// covers compares every signature with that of every key, whichever matches first.
func (v *Verifier) covers(text signedText, c claim) bool {
	good := false
	for _, key := range v.keys {
		valid := v.scheme.check(key, text)
		for _, encoded := range c.signatures {
			signature, err := v.scheme.encoding.decode(encoded)
			good = valid(signature) && err == nil || good
		}
	}
	return good
}

// check returns the check of signatures of a text with a key.
func (s scheme) check(key []byte, text signedText) func(signature []byte) bool {
	if s.publicKey {
		return verifyECDSA(key, text)
	}
	mac := hmac.New(s.digest, key)
	text.writeTo(mac)
	sum := mac.Sum(nil)
	return func(signature []byte) bool { return hmac.Equal(signature, sum) }
}

// algorithms are the names of HMACs by their length in bytes.
var algorithms = map[int]string{sha1.Size: "HMAC-SHA1", sha256.Size: "HMAC-SHA256", sha512.Size: "HMAC-SHA512"}

// explain describes the check of a signature for the webhook's owner: the algorithm, lengths and counts, no values.
func (v *Verifier) explain(r *receive.Request, c claim) string {
	size := v.scheme.digest().Size()
	algorithm, form := algorithms[size], fmt.Sprintf("the %d bytes of %s", size, algorithms[size])
	if v.scheme.publicKey {
		algorithm, form = "ECDSA-SHA256", "a signature of ECDSA-SHA256" // Whose length varies.
	}
	readable := 0
	for _, text := range c.signatures {
		if signature, err := v.scheme.encoding.decode(text); err == nil && (len(signature) == size || v.scheme.publicKey) {
			readable++
		}
	}
	if readable == 0 {
		return fmt.Sprintf("none of %d signatures decodes from %s to %s", len(c.signatures), v.scheme.encoding.name, form)
	}
	return fmt.Sprintf("compared %d signatures (%s in %s) with %d secrets, over a body of %d bytes",
		readable, algorithm, v.scheme.encoding.name, len(v.keys), len(r.Wire))
}
