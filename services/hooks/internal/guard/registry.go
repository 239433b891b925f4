package guard

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/ratelimit"
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
	networks clientaddr.Networks // The networks of the operator's rules.
	rates    *ratelimit.Limiter

	mu       sync.RWMutex
	hooks    map[string]*Guard   // By the webhook's id.
	accounts map[string]*account // By the account's id.
}

// account has the rules of one account: its own, and the operator's, which it cannot lift.
type account struct {
	definition *orchv1.AccountDefinition
	networks   clientaddr.Networks
	rate       *ratelimit.Bucket
	operator   *ratelimit.Bucket
	quota      *ratelimit.Bucket
	setupError error
}

// The prefixes of the keys of token buckets; ids follow.
const (
	webhookPrefix  = "webhook."
	accountPrefix  = "account."
	operatorPrefix = "operator."
)

// NewRegistry returns a registry that decrypts secrets with keys and applies the operator's rules to each account. Certificates
// verify providers that sign with one. Rates count the requests.
func NewRegistry(keys secrets.Keyring, certificates verify.Certificates, operator Rules, rates *ratelimit.Limiter) (*Registry, error) {
	networks, err := clientaddr.ParseNetworks(operator.AllowedIPs)
	if err != nil {
		return nil, fmt.Errorf("parse addresses that may post to webhooks: %w", err)
	}
	return &Registry{
		keys: keys, certs: certificates, operator: operator, networks: networks, rates: rates,
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
		g = newGuard(d, r.keys, r.certs, r.rates)
		r.hooks[d.GetId()] = g
	}
	return g
}

// Forget drops the guard of a deleted webhook.
func (r *Registry) Forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.hooks, id)
	r.rates.Forget(webhookPrefix + id)
}

// Admit decides whether a webhook accepts a request from an address now. The rules of the operator, the account and the
// webhook must all allow it. Addresses come first, so strangers do not use up a rate, and a refused request counts nowhere.
// Errors: ErrForbidden, *TooManyError, or one that wraps ErrClosed or ErrUnavailable. The account's definition is nil when the account
// has no rules of its own.
func (r *Registry) Admit(ctx context.Context, g *Guard, own *orchv1.AccountDefinition, from netip.Addr) error {
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
	return take(ctx, 1, a, g.rate, a.rate, a.operator, a.quota)
}

// AdmitEvents counts the events of an admitted request, the first of which Admit has counted, against the account's quota. Errors are those
// of Admit. A request with more events than the quota takes all of it.
func (r *Registry) AdmitEvents(ctx context.Context, g *Guard, own *orchv1.AccountDefinition, events int) error {
	a := r.account(g.definition.GetAccount(), own)
	if a.quota == nil {
		return nil
	}
	if events = min(events, a.quota.Burst()); events < 2 {
		return nil
	}
	return take(ctx, events-1, a, a.quota)
}

func take(ctx context.Context, n int, a *account, buckets ...*ratelimit.Bucket) error {
	full, wait, err := ratelimit.Take(ctx, n, buckets...)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case full != nil:
		return &TooManyError{Wait: wait, Quota: full == a.quota}
	}
	return nil
}

// bucketOf returns the token bucket of a key; nil without a limit.
func bucketOf(rates *ratelimit.Limiter, key string, limit *orchv1.WebhookRateLimit) *ratelimit.Bucket {
	if limit == nil {
		return nil
	}
	burst := limit.GetRequests()
	if limit.Burst != nil {
		burst = limit.GetBurst()
	}
	return rates.Bucket(key, ratelimit.Limit{
		Tokens: int(limit.GetRequests()), Per: time.Duration(limit.GetSeconds()) * time.Second, Burst: int(burst),
	})
}

// quotaOf returns the token bucket of the quota of events of an account; nil without a quota.
func (r *Registry) quotaOf(id string, d *orchv1.AccountDefinition) *ratelimit.Bucket {
	limit := r.operator.EventsPerSecond
	if d != nil && d.EventsPerSecond != nil {
		limit = d.GetEventsPerSecond()
	}
	return quota.EventBucket(r.rates, id, limit)
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
	if a = r.accounts[id]; a != nil && a.definition == d {
		return a
	}
	a = &account{
		definition: d, rate: bucketOf(r.rates, accountPrefix+id, d.GetRateLimit()),
		operator: bucketOf(r.rates, operatorPrefix+id, r.operator.RateLimit), quota: r.quotaOf(id, d),
	}
	if a.networks, a.setupError = clientaddr.ParseNetworks(d.GetAllowedIps()); a.setupError != nil {
		a.setupError = fmt.Errorf("%w: its account: %w", ErrClosed, a.setupError)
	}
	r.accounts[id] = a
	return a
}
