package guard

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/ratewindow"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Rules hold over all webhooks of an account together. The zero Rules allow everything.
type Rules struct {
	RateLimit  *orchv1.WebhookRateLimit
	AllowedIPs []string
	// EventsPerSecond is the quota of accounts without one of their own; 0 means none.
	EventsPerSecond int64
}

// Registry holds the guards of all webhooks and accounts. It is safe for concurrent use.
type Registry struct {
	keys     secrets.Keyring
	certs    verify.Certificates
	operator Rules
	networks clientaddr.Networks // Those of the operator's rules.

	mu       sync.RWMutex
	hooks    map[string]*Guard   // By the webhook's id.
	accounts map[string]*account // By the account's id.
}

// account has the rules of one account: its own, and the operator's, which it cannot lift.
type account struct {
	definition *orchv1.AccountDefinition
	networks   clientaddr.Networks
	window     *ratewindow.Window
	operator   *ratewindow.Window
	quota      *ratewindow.Window
	setupError error
}

// NewRegistry returns a registry that decrypts secrets with keys and applies the operator's rules to each account. Certificates
// verify providers that sign with one.
func NewRegistry(keys secrets.Keyring, certificates verify.Certificates, operator Rules) (*Registry, error) {
	networks, err := clientaddr.ParseNetworks(operator.AllowedIPs)
	if err != nil {
		return nil, fmt.Errorf("parse addresses that may post to webhooks: %w", err)
	}
	return &Registry{
		keys: keys, certs: certificates, operator: operator, networks: networks,
		hooks: map[string]*Guard{}, accounts: map[string]*account{},
	}, nil
}

// Of returns the guard of a webhook. It retains the definition.
func (r *Registry) Of(d *orchv1.WebhookDefinition) *Guard {
	r.mu.RLock()
	g := r.hooks[d.GetId()]
	r.mu.RUnlock()
	if g != nil && g.definition == d {
		return g
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if g = r.hooks[d.GetId()]; g == nil || g.definition != d {
		g = newGuard(d, r.keys, r.certs, g)
		r.hooks[d.GetId()] = g
	}
	return g
}

// Forget drops the guard of a deleted webhook.
func (r *Registry) Forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.hooks, id)
}

// Admit decides whether a webhook accepts a request from an address now. The rules of the operator, the account and the
// webhook must all allow it. Addresses come first, so strangers do not use up a rate, and a refused request counts nowhere.
// Errors: ErrForbidden, *TooManyError, or one that wraps ErrClosed. The account's definition is nil when the account has no
// rules of its own.
func (r *Registry) Admit(g *Guard, own *orchv1.AccountDefinition, from netip.Addr, now time.Time) error {
	if g.setupError != nil {
		return g.setupError
	}
	a := r.account(g.definition.GetAccount(), own)
	if a.setupError != nil {
		return a.setupError
	}
	for _, networks := range [...]clientaddr.Networks{r.networks, a.networks, g.networks} {
		if len(networks) > 0 && !networks.Contain(from) { // No list contains an invalid address.
			return ErrForbidden
		}
	}
	if full, wait := ratewindow.Take(now, 1, g.window, a.window, a.operator, a.quota); full != nil {
		return &TooManyError{Wait: wait, Quota: full == a.quota}
	}
	return nil
}

// AdmitEvents counts the events of an admitted request, the first of which Admit has counted, against the account's quota. The error is a
// *TooManyError. A request with more events than the quota takes all of it.
func (r *Registry) AdmitEvents(g *Guard, own *orchv1.AccountDefinition, events int, now time.Time) error {
	quota := r.account(g.definition.GetAccount(), own).quota
	if quota == nil || events < 2 || quota.Limit() < 2 {
		return nil
	}
	if full, wait := ratewindow.Take(now, min(events, quota.Limit())-1, quota); full != nil {
		return &TooManyError{Wait: wait, Quota: true}
	}
	return nil
}

// follow returns the window for a rate limit, which counts on from the one before if the limit is the same; nil for none.
func follow(before *ratewindow.Window, limit *orchv1.WebhookRateLimit) *ratewindow.Window {
	if limit == nil {
		return nil
	}
	return followed(before, limit.GetRequests(), time.Duration(limit.GetSeconds())*time.Second)
}

func followed(before *ratewindow.Window, limit int64, span time.Duration) *ratewindow.Window {
	if before.Is(int(limit), span) {
		return before
	}
	return ratewindow.New(int(limit), span)
}

// followQuota is follow for the quota of events of an account.
func (r *Registry) followQuota(before *ratewindow.Window, d *orchv1.AccountDefinition) *ratewindow.Window {
	limit := r.operator.EventsPerSecond
	if d != nil && d.EventsPerSecond != nil {
		limit = d.GetEventsPerSecond()
	}
	if limit <= 0 {
		return nil
	}
	return followed(before, limit, time.Second)
}

// unruled is an account without rules.
var unruled account

func (r *Registry) account(id string, d *orchv1.AccountDefinition) *account {
	if d == nil && r.operator.RateLimit == nil && r.operator.EventsPerSecond == 0 {
		return &unruled
	}
	r.mu.RLock()
	a := r.accounts[id]
	r.mu.RUnlock()
	if a != nil && a.definition == d {
		return a
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.accounts[id]
	if before == nil {
		before = &account{operator: follow(nil, r.operator.RateLimit)}
	} else if before.definition == d {
		return before
	}
	a = &account{
		definition: d, window: follow(before.window, d.GetRateLimit()), operator: before.operator, quota: r.followQuota(before.quota, d),
	}
	if a.networks, a.setupError = clientaddr.ParseNetworks(d.GetAllowedIps()); a.setupError != nil {
		a.setupError = fmt.Errorf("%w: its account: %w", ErrClosed, a.setupError)
	}
	r.accounts[id] = a
	return a
}
