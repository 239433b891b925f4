package guard

import (
	"net/netip"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/peer"
	"github.com/orch-project/orch/pkg/secrets"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Book keeps the guards of all webhooks and accounts. It is safe for concurrent use.
type Book struct {
	keys secrets.Keyring

	mu       sync.RWMutex
	hooks    map[string]*Guard   // By the webhook's id.
	accounts map[string]*account // By the account's id.
}

type account struct {
	definition *orchv1.AccountDefinition
	networks   peer.Networks
	window     *window
	fault      error
}

// NewBook makes a book that opens secrets with these keys.
func NewBook(keys secrets.Keyring) *Book {
	return &Book{keys: keys, hooks: map[string]*Guard{}, accounts: map[string]*account{}}
}

// Of is the guard of a webhook. It keeps the definition.
func (b *Book) Of(d *orchv1.WebhookDefinition) *Guard {
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
func (b *Book) Forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.hooks, id)
}

// Admit decides whether a request from an address may be taken for a webhook now: by the account's rules, then by the
// webhook's own. Errors: ErrForbidden, *TooManyError, or one that wraps ErrClosed. The account may be nil.
func (b *Book) Admit(g *Guard, of *orchv1.AccountDefinition, from netip.Addr, now time.Time) error {
	if g.fault != nil {
		return g.fault
	}
	if of != nil {
		a := b.account(of)
		if a.fault != nil {
			return a.fault
		}
		if err := admit(a.networks, a.window, from, now); err != nil {
			return err
		}
	}
	return g.admit(from, now)
}

func (b *Book) account(d *orchv1.AccountDefinition) *account {
	b.mu.RLock()
	a := b.accounts[d.GetId()]
	b.mu.RUnlock()
	if a != nil && a.definition == d {
		return a
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.accounts[d.GetId()]
	if before != nil && before.definition == d {
		return before
	}
	a = &account{definition: d}
	if before != nil && before.window.same(d.GetRateLimit()) {
		a.window = before.window
	} else {
		a.window = newWindow(d.GetRateLimit())
	}
	a.networks, a.fault = peer.ParseNetworks(d.GetAllowedIps())
	b.accounts[d.GetId()] = a
	return a
}
