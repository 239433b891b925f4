package guard

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/secrets"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Rules hold over all webhooks of an account together. The zero Rules allow everything.
type Rules struct {
	RateLimit  *orchv1.WebhookRateLimit
	AllowedIPs []string
}

// Registry holds the guards of all webhooks and accounts. It is safe for concurrent use.
type Registry struct {
	keys     secrets.Keyring
	operator Rules
	networks clientaddr.Networks // Those of the operator's rules.

	mu       sync.RWMutex
	hooks    map[string]*Guard   // By the webhook's id.
	accounts map[string]*account // By the account's id.
}

// account is what holds for one account: its own rules, and the operator's, which it cannot lift.
type account struct {
	definition *orchv1.AccountDefinition
	networks   clientaddr.Networks
	window     *window
	operator   *window
	fieldError error
}

// NewRegistry returns a registry that decrypts secrets with keys and applies the operator's rules to each account.
func NewRegistry(keys secrets.Keyring, operator Rules) (*Registry, error) {
	networks, err := clientaddr.ParseNetworks(operator.AllowedIPs)
	if err != nil {
		return nil, fmt.Errorf("read the addresses that may post to webhooks: %w", err)
	}
	return &Registry{
		keys: keys, operator: operator, networks: networks,
		hooks: map[string]*Guard{}, accounts: map[string]*account{},
	}, nil
}

// Of is the guard of a webhook. It keeps the definition.
func (b *Registry) Of(d *orchv1.WebhookDefinition) *Guard {
	b.mu.RLock()
	g := b.hooks[d.GetId()]
	b.mu.RUnlock()
	if g != nil && g.definition == d {
		return g
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if g = b.hooks[d.GetId()]; g == nil || g.definition != d {
		g = newGuard(d, b.keys, g)
		b.hooks[d.GetId()] = g
	}
	return g
}

// Forget drops the guard of a webhook that is no more.
func (b *Registry) Forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.hooks, id)
}

// Admit decides whether a request from an address may be taken for a webhook now: by the operator's rules, the account's
// and the webhook's, all of which must allow it. Addresses come first, so that strangers use up nobody's rate, and a
// request that is refused is counted nowhere. Errors: ErrForbidden, *TooManyError, or one that wraps ErrClosed. The
// account's definition is nil where it has no rules of its own.
func (b *Registry) Admit(g *Guard, own *orchv1.AccountDefinition, from netip.Addr, now time.Time) error {
	if g.fieldError != nil {
		return g.fieldError
	}
	a := b.account(g.definition.GetAccount(), own)
	if a.fieldError != nil {
		return a.fieldError
	}
	for _, networks := range [...]clientaddr.Networks{b.networks, a.networks, g.networks} {
		if len(networks) > 0 && !networks.Contain(from) { // The address that is not valid is on no list.
			return ErrForbidden
		}
	}
	if wait, ok := takeAll(now, g.window, a.window, a.operator); !ok {
		return &TooManyError{wait}
	}
	return nil
}

// unruled is an account that nobody has rules for.
var unruled account

func (b *Registry) account(id string, d *orchv1.AccountDefinition) *account {
	if d == nil && b.operator.RateLimit == nil {
		return &unruled
	}
	b.mu.RLock()
	a := b.accounts[id]
	b.mu.RUnlock()
	if a != nil && a.definition == d {
		return a
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.accounts[id]
	if before == nil {
		before = &account{operator: newWindow(b.operator.RateLimit)}
	} else if before.definition == d {
		return before
	}
	a = &account{definition: d, window: before.window.follow(d.GetRateLimit()), operator: before.operator}
	if a.networks, a.fieldError = clientaddr.ParseNetworks(d.GetAllowedIps()); a.fieldError != nil {
		a.fieldError = fmt.Errorf("%w: its account: %w", ErrClosed, a.fieldError)
	}
	b.accounts[id] = a
	return a
}
