package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// trustWithoutContact is how long keys are trusted without contact to the broker: they may have been revoked.
	trustWithoutContact = 5 * time.Second
	// catchUpsPerSecond bounds the catch-ups that refused callers cause.
	catchUpsPerSecond = 100
	// catchUpTimeout bounds one catch-up.
	catchUpTimeout = 2 * time.Second
)

var (
	// ErrUnknownKey means that a key does not exist or is no longer valid.
	ErrUnknownKey = errors.New("directory: no such key")
	// ErrStale means that the view is incomplete or unconfirmed, so no decision is possible.
	ErrStale = errors.New("directory: view is not current")
)

// bucket is the subset of broker.KV that a Directory uses.
type bucket interface {
	Watch(ctx context.Context, handle func(broker.Change)) error
	CatchUp(ctx context.Context) error
	LastContact() time.Time
}

// Options are the dependencies of a Directory; zero fields mean the defaults.
type Options struct {
	Bucket bucket
	Log    *slog.Logger
	Clock  clock.Clock
}

// Directory is the view in memory. It is safe for concurrent use.
type Directory struct {
	opts    Options
	limiter *rate.Limiter

	loaded   chan struct{} // Closed when the first load is complete.
	loadOnce sync.Once

	mu       sync.RWMutex
	complete bool                              // The bucket has the key Complete.
	entries  map[string]*orchv1.DirectoryEntry // By key in the bucket. Values are immutable.
	keys     map[string]key                    // By digest.
	members  map[pair]grant                    // Account and actor → account role.
	access   map[pair]grant                    // Workspace and actor → workspace role.
	roles    map[string]access.Set             // Custom roles of accounts, by id.
	teams    map[pair][]string                 // Account and actor → ids of teams.
	allowed  map[string]clientaddr.Networks    // Account → addresses that may use it; only accounts that enforce it.
}

// pair is an account or a workspace, and an actor.
type pair struct{ owner, actor string }

// grant is a role and the key of the entry that grants it. The removal of an entry may arrive after its replacement, so
// it removes only the grant of its own entry.
type grant struct{ role, from string }

func revoke(grants map[pair]grant, p pair, from string) {
	if grants[p].from == from {
		delete(grants, p)
	}
}

// key is a key with its owner.
type key struct {
	*orchv1.DirectoryKey
	owner string // The key of the owner's entry.
}

// New returns an empty directory; Run fills it.
func New(o Options) *Directory {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	return &Directory{
		opts:    o,
		limiter: rate.NewLimiter(catchUpsPerSecond, catchUpsPerSecond),
		loaded:  make(chan struct{}),
		entries: map[string]*orchv1.DirectoryEntry{},
		keys:    map[string]key{},
		members: map[pair]grant{},
		access:  map[pair]grant{},
		roles:   map[string]access.Set{},
		teams:   map[pair][]string{},
		allowed: map[string]clientaddr.Networks{},
	}
}

// Name implements run.Worker.
func (d *Directory) Name() string { return "directory" }

// Ready implements run.Readier: the channel is closed when the initial load is complete.
func (d *Directory) Ready() <-chan struct{} { return d.loaded }

// Run follows the bucket until ctx ends.
func (d *Directory) Run(ctx context.Context) error {
	return d.opts.Bucket.Watch(ctx, func(change broker.Change) { d.apply(ctx, change) })
}

// Loaded returns nil after the initial load, else ErrStale. It stays nil during an outage of the broker.
func (d *Directory) Loaded() error {
	select {
	case <-d.loaded:
		return nil
	default:
		return fmt.Errorf("%w: not loaded yet", ErrStale)
	}
}

// Current returns nil when the view is complete and recent enough to trust keys, else ErrStale.
func (d *Directory) Current() error {
	if err := d.Loaded(); err != nil {
		return err
	}
	d.mu.RLock()
	complete := d.complete
	d.mu.RUnlock()
	if !complete {
		return fmt.Errorf("%w: not published yet", ErrStale)
	}
	if age := d.opts.Clock.Now().Sub(d.opts.Bucket.LastContact()).Abs(); age > trustWithoutContact { // Negative: the clock stepped back.
		return fmt.Errorf("%w: no contact to the broker for more than %s", ErrStale, trustWithoutContact)
	}
	return nil
}

// CatchUp waits until the view includes all earlier writes, and reports whether it does. Refused callers cause it, so
// it is rate-limited: beyond the limit it returns false at once.
func (d *Directory) CatchUp(ctx context.Context) bool {
	if !d.limiter.AllowN(d.opts.Clock.Now(), 1) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	return d.opts.Bucket.CatchUp(ctx) == nil
}

// apply applies one change. An undecodable change removes its document: outdated rights are worse than none.
func (d *Directory) apply(ctx context.Context, change broker.Change) {
	if change.InitialDone {
		d.loadOnce.Do(func() { close(d.loaded) })
		return
	}
	if change.Key == Complete {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.complete = !change.Deleted
		return
	}
	var next *orchv1.DirectoryEntry
	if !change.Deleted {
		var err error
		if next, err = Decode(change.Value); err != nil {
			d.opts.Log.ErrorContext(ctx, "failed to decode a directory entry", "error", err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(change.Key, d.entries[change.Key])
	delete(d.entries, change.Key)
	if next != nil {
		d.entries[change.Key] = next
		d.add(change.Key, next)
	}
}

func (d *Directory) drop(at string, e *orchv1.DirectoryEntry) {
	for _, k := range e.GetActor().GetKeys() {
		delete(d.keys, k.GetDigest())
	}
	if m := e.GetMembership(); m != nil {
		revoke(d.members, pair{m.GetAccountId(), m.GetActorId()}, at)
	}
	if a := e.GetActor(); a.GetAccountId() != "" {
		revoke(d.members, pair{a.GetAccountId(), a.GetActorId()}, at)
	}
	if a := e.GetAccess(); a != nil {
		revoke(d.access, pair{a.GetWorkspaceId(), a.GetActorId()}, at)
	}
	if e.GetRole() != nil {
		delete(d.roles, e.GetId())
	}
	for _, member := range e.GetTeam().GetMemberIds() {
		in := pair{e.GetTeam().GetAccountId(), member}
		d.teams[in] = slices.DeleteFunc(d.teams[in], func(id string) bool { return id == e.GetId() })
		if len(d.teams[in]) == 0 {
			delete(d.teams, in)
		}
	}
	delete(d.allowed, e.GetId())
}

func (d *Directory) add(at string, e *orchv1.DirectoryEntry) {
	for _, k := range e.GetActor().GetKeys() {
		d.keys[k.GetDigest()] = key{k, at}
	}
	if m := e.GetMembership(); m != nil {
		d.members[pair{m.GetAccountId(), m.GetActorId()}] = grant{m.GetAccountRoleId(), at}
	}
	if a := e.GetActor(); a.GetAccountId() != "" {
		d.members[pair{a.GetAccountId(), a.GetActorId()}] = grant{a.GetAccountRoleId(), at}
	}
	if a := e.GetAccess(); a != nil {
		d.access[pair{a.GetWorkspaceId(), a.GetActorId()}] = grant{a.GetWorkspaceRoleId(), at}
	}
	if role := e.GetRole(); role != nil {
		d.roles[e.GetId()] = access.NewSet(role.GetScopes()...)
	}
	for _, member := range e.GetTeam().GetMemberIds() {
		in := pair{e.GetTeam().GetAccountId(), member}
		d.teams[in] = append(d.teams[in], e.GetId())
	}
	if a := e.GetAccount(); a.GetEnforceIpAllowlist() {
		// An invalid list is nil, which allows no address.
		d.allowed[e.GetId()], _ = clientaddr.ParseNetworks(a.GetAllowedNetworks())
	}
}
