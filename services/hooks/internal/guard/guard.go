package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/ratelimit"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var (
	// ErrForbidden means that the address may not post.
	ErrForbidden = errors.New("requests from this address are not allowed")
	// ErrClosed is wrapped when a webhook's protection cannot be set up, so it accepts nothing.
	ErrClosed = errors.New("set up webhook protection")
	// ErrUnavailable is wrapped when the broker does not answer whether a rate allows the request.
	ErrUnavailable = errors.New("check the rate limit")
)

// TooManyError means that the rate limit is exceeded.
type TooManyError struct {
	// Wait is the time until a request may be accepted again.
	Wait time.Duration
	// Quota reports that the limit is the account's quota of events.
	Quota bool
}

// Error implements error.
func (e *TooManyError) Error() string {
	if e.Quota {
		return fmt.Sprintf("too many requests: the account's quota of %s is used up", quota.EventsPerSecond)
	}
	return "too many requests"
}

// Guard guards one webhook. It is safe for concurrent use.
type Guard struct {
	definition  *orchv1.WebhookDefinition
	id          uuid.UUID
	verifier    *verify.Verifier // Nil: requests need no signature.
	networks    clientaddr.Networks
	rate        *ratelimit.Bucket // Nil: requests have no rate limit.
	verifyToken string
	secrets     []string // Signing secrets and verify token, with and without prefix.
	credentials []string // The headers of the verification's scheme.
	setupError  error    // Why nothing is accepted; nil when the setup succeeded.
}

// newGuard prepares a definition.
func newGuard(d *orchv1.WebhookDefinition, keys secrets.Keyring, certificates verify.Certificates, rates *ratelimit.Limiter) *Guard {
	g := &Guard{definition: d}
	if g.setupError = g.prepare(keys, certificates); g.setupError == nil {
		g.rate = bucketOf(rates, webhookPrefix+d.GetId(), d.GetRateLimit())
	}
	return g
}

func (g *Guard) prepare(keys secrets.Keyring, certificates verify.Certificates) (err error) {
	d := g.definition
	if g.id, err = uuid.Parse(d.GetId()); err != nil {
		return fmt.Errorf("%w: parse id: %w", ErrClosed, err)
	}
	if g.networks, err = clientaddr.ParseNetworks(d.GetAllowedIps()); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	workspace, err := uuid.Parse(d.GetWorkspace())
	if err != nil {
		return fmt.Errorf("%w: parse workspace: %w", ErrClosed, err)
	}
	signing, verifyToken, err := webhookdef.OpenSecrets(keys, workspace, g.id, d)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	g.verifyToken, g.secrets = verifyToken, verify.Notations(append(signing, verifyToken)...)
	if d.GetVerification() == nil {
		return nil
	}
	g.credentials = verify.CredentialHeaders(d.GetVerification())
	if g.verifier, err = verify.New(d.GetVerification(), signing, certificates); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return nil
}

// Unusable returns why the webhook accepts nothing; nil when it does. It wraps ErrClosed and is for the operator.
func (g *Guard) Unusable() error { return g.setupError }

// Secrets returns the secrets that the webhook shares with its senders. They must not be shown.
func (g *Guard) Secrets() []string { return g.secrets }

// CredentialHeaders returns the lower-case names of the headers by which senders prove themselves.
func (g *Guard) CredentialHeaders() []string { return g.credentials }

// Signed reports whether requests need a signature.
func (g *Guard) Signed() bool { return g.verifier != nil }

// VerifyHeader verifies what the header of a request proves, before its body is read. The error wraps verify.ErrUnproven.
func (g *Guard) VerifyHeader(r *receive.Request) error {
	if g.verifier == nil {
		return nil
	}
	return g.verifier.VerifyHeader(r, r.Received)
}

// VerifyWaits reports whether Verify may wait for a provider.
func (g *Guard) VerifyWaits() bool { return g.verifier != nil && g.verifier.Waits() }

// Verify verifies a request whose body was read. The proof is nil when the webhook has no verification. The error wraps
// verify.ErrUnproven or verify.ErrUnavailable.
func (g *Guard) Verify(ctx context.Context, r *receive.Request) (*verify.Proof, error) {
	if g.verifier == nil {
		return nil, nil
	}
	proof, err := g.verifier.Verify(ctx, r, r.Received)
	if err != nil {
		return nil, err
	}
	return &proof, nil
}

// EventID is the event id of the request and its duplicates; uuid.Nil when duplicates are not recognised. The proof is the
// result of Verify.
func (g *Guard) EventID(proof *verify.Proof, r *receive.Request) uuid.UUID {
	if proof == nil && g.definition.ServiceAccountId == nil {
		return uuid.Nil // Unverified: an id that anyone can claim must not suppress an event.
	}
	return verify.EventID(g.id, g.definition.GetDeduplication(), g.definition.GetVerification().GetScheme(), proof, r)
}

// Confirms reports whether the webhook confirms subscriptions to topics of Amazon SNS, whose URLs are signed.
func (g *Guard) Confirms() bool {
	return receive.HandshakesOf(g.definition, "").SNS && g.definition.GetVerification().GetScheme() == orchv1.WebhookScheme_WEBHOOK_SCHEME_SNS
}

// Handshakes returns the handshakes that the webhook enables.
func (g *Guard) Handshakes() receive.Handshakes {
	h := receive.HandshakesOf(g.definition, g.verifyToken)
	h.SNS = h.SNS && !g.Confirms()
	return h
}
