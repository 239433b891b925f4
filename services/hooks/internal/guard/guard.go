package guard

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var (
	// ErrForbidden means that requests from this address are not taken.
	ErrForbidden = errors.New("requests from this address are not allowed")
	// ErrClosed is wrapped when a webhook cannot be guarded as it asks to be, so nothing is taken.
	ErrClosed = errors.New("the webhook cannot be guarded")
)

// TooManyError means that the rate is exceeded.
type TooManyError struct {
	// Wait is when a request is taken again, if nobody else is faster.
	Wait time.Duration
}

// Error implements error.
func (e *TooManyError) Error() string { return "too many requests" }

// Guard guards one webhook. It is safe for concurrent use.
type Guard struct {
	definition  *orchv1.WebhookDefinition
	id          uuid.UUID
	verifier    *verify.Verifier // Nil: requests need no signature.
	networks    clientaddr.Networks
	window      *window
	verifyToken string
	secrets     []string // Those of the signature, and the verify token, in all spellings.
	fieldError  error    // Why nothing is taken; nil when something is.
}

// newGuard prepares a definition. The counts of the guard before it, which may be nil, go on if its limit is the same.
func newGuard(d *orchv1.WebhookDefinition, keys secrets.Keyring, before *Guard) *Guard {
	g := &Guard{definition: d}
	if before != nil {
		g.window = before.window
	}
	g.window = g.window.follow(d.GetRateLimit())
	g.fieldError = g.prepare(keys)
	return g
}

func (g *Guard) prepare(keys secrets.Keyring) (err error) {
	d := g.definition
	if g.id, err = uuid.Parse(d.GetId()); err != nil {
		return fmt.Errorf("%w: its id: %w", ErrClosed, err)
	}
	if g.networks, err = clientaddr.ParseNetworks(d.GetAllowedIps()); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	workspace, err := uuid.Parse(d.GetWorkspace())
	if err != nil {
		return fmt.Errorf("%w: its workspace: %w", ErrClosed, err)
	}
	signing, verifyToken, err := webhookdef.OpenSecrets(keys, workspace, g.id, d)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	g.verifyToken, g.secrets = verifyToken, verify.Spellings(append(signing, verifyToken)...)
	if d.GetVerification() == nil {
		return nil
	}
	if g.verifier, err = verify.New(d.GetVerification(), signing); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return nil
}

// Fault is why nothing is taken for the webhook, nil when something is. It wraps ErrClosed and is the operator's matter.
func (g *Guard) Unusable() error { return g.fieldError }

// Secrets are what the webhook's senders and it alone know. They must not be shown.
func (g *Guard) Secrets() []string { return g.secrets }

// Verify proves a request whose body was read; the proof is nil when the webhook asks for none. The error wraps
// verify.ErrUnproven.
func (g *Guard) Verify(r *receive.Request) (*verify.Proof, error) {
	if g.verifier == nil {
		return nil, nil
	}
	proof, err := g.verifier.Verify(r, r.Received)
	if err != nil {
		return nil, err
	}
	return &proof, nil
}

// EventID is the id that the request's event gets however often it is delivered; uuid.Nil when repeats are not known.
// The proof is what Verify returned.
func (g *Guard) EventID(proof *verify.Proof, r *receive.Request) uuid.UUID {
	if proof == nil && g.definition.ServiceAccountId == nil {
		return uuid.Nil // Nobody proved anything: an id that anyone can claim must not suppress an event.
	}
	return verify.EventID(g.id, g.definition.GetDeduplication(), g.definition.GetVerification().GetScheme(), proof, r)
}

// Handshakes are those that the webhook asks for.
func (g *Guard) Handshakes() receive.Handshakes {
	has := func(h orchv1.WebhookHandshake) bool { return slices.Contains(g.definition.GetHandshakes(), h) }
	return receive.Handshakes{
		Slack:       has(orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SLACK),
		SNS:         has(orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_SNS),
		Meta:        has(orchv1.WebhookHandshake_WEBHOOK_HANDSHAKE_META),
		VerifyToken: g.verifyToken,
	}
}
