package definitioncache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var (
	// ErrNotFound means that no enabled webhook has the slug.
	ErrNotFound = errors.New("find webhook definition: no such webhook")
	// ErrUnavailable means that the existence of the webhook is unknown.
	ErrUnavailable = errors.New("find webhook definition: definitions unavailable")
	// ErrLoading is returned by Loaded until all definitions are loaded.
	ErrLoading = errors.New("webhook definitions are loading")
)

// Bucket is the part of a broker's bucket that is used here; see broker.KV.
type Bucket interface {
	Watch(ctx context.Context, handle func(broker.Change)) error
	Get(ctx context.Context, key string) ([]byte, error)
	LastContact() time.Time
}

// Options configure a Cache; zero fields mean the defaults.
type Options struct {
	Bucket Bucket
	Log    *slog.Logger
	Clock  clock.Clock
	// Gone is called with the id of each deleted or disabled webhook; may be nil.
	Gone func(id string)
	// LooksPerSecond bounds the look-ups of unknown slugs in the bucket. Default 200.
	LooksPerSecond int
}

// Cache holds the webhook definitions. It is safe for concurrent use.
type Cache struct {
	opts Options

	mu sync.RWMutex
	// By webhookdef.Key, and by the account's id. Values are never changed.
	hooks    map[string]*orchv1.WebhookDefinition
	accounts map[string]*orchv1.AccountDefinition

	loaded   chan struct{} // Closed when the first load is complete.
	loadOnce sync.Once

	absent  *absences
	limiter *rate.Limiter
	flight  singleflight.Group
}

// New returns an empty cache; Run fills it.
func New(o Options) *Cache {
	if o.LooksPerSecond == 0 {
		o.LooksPerSecond = 200
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	return &Cache{
		opts:  o,
		hooks: map[string]*orchv1.WebhookDefinition{}, accounts: map[string]*orchv1.AccountDefinition{},
		loaded:  make(chan struct{}),
		absent:  newAbsences(o.Clock),
		limiter: rate.NewLimiter(rate.Limit(o.LooksPerSecond), o.LooksPerSecond),
	}
}

// Name implements run.Worker.
func (c *Cache) Name() string { return "webhook definitions" }

// Ready implements run.Readier: the channel is closed when all definitions are loaded.
func (c *Cache) Ready() <-chan struct{} { return c.loaded }

// Loaded is nil once all definitions are loaded. It stays nil while the broker is unreachable.
func (c *Cache) Loaded() error {
	select {
	case <-c.loaded:
		return nil
	default:
		return ErrLoading
	}
}

// Run watches the bucket until ctx ends.
func (c *Cache) Run(ctx context.Context) error {
	return c.opts.Bucket.Watch(ctx, func(change broker.Change) { c.apply(ctx, change) })
}

// apply applies one change. A change that cannot be decoded removes its webhook: an outdated definition is worse than none.
func (c *Cache) apply(ctx context.Context, change broker.Change) {
	if change.InitialDone {
		c.loadOnce.Do(func() { close(c.loaded) })
		c.mu.RLock()
		defer c.mu.RUnlock()
		c.opts.Log.InfoContext(ctx, "webhook definitions are loaded", "webhooks", len(c.hooks))
		return
	}
	if account, ok := webhookdef.AccountOf(change.Key); ok {
		c.applyAccount(ctx, account, change)
		return
	}
	var hook *orchv1.WebhookDefinition
	if !change.Deleted {
		var err error
		if hook, err = webhookdef.Decode(change.Value); err != nil {
			c.opts.Log.ErrorContext(ctx, "failed to decode a webhook definition", "error", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opts.Gone != nil && !hook.GetEnabled() && c.hooks[change.Key] != nil {
		c.opts.Gone(c.hooks[change.Key].GetId())
	}
	if hook == nil {
		delete(c.hooks, change.Key)
		return
	}
	c.hooks[change.Key] = hook // The watch has the order of the bucket. After a restore of the store the revision is lower.
	c.absent.forget(change.Key)
}

// applyAccount applies a change of an account. A change that cannot be decoded leaves the rules as they were.
func (c *Cache) applyAccount(ctx context.Context, id string, change broker.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change.Deleted {
		delete(c.accounts, id)
		return
	}
	account, err := webhookdef.DecodeAccount(change.Value)
	if err != nil {
		c.opts.Log.ErrorContext(ctx, "failed to decode an account definition", "account", id, "error", err)
		return
	}
	c.accounts[id] = account
}

// Account returns the definition of an account; nil when it has no rules for its webhooks.
func (c *Cache) Account(id string) *orchv1.AccountDefinition {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.accounts[id]
}

// cached returns the definition under a key; nil when there is none.
func (c *Cache) cached(key string) *orchv1.WebhookDefinition {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.hooks[key]
}
