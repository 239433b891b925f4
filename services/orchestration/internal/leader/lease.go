package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Store stores leases by name.
type Store interface {
	// TakeLease acquires or renews a lease. It returns false when another holder has it.
	TakeLease(ctx context.Context, name string, holder uuid.UUID, until time.Time) (held bool, err error)
	EndLease(ctx context.Context, name string, holder uuid.UUID) error
	Now() time.Time
	NewID() uuid.UUID
}

// ErrLost is the cause of a context whose lease another holder has, or may have.
var ErrLost = errors.New("lost the lease")

// releaseTimeout bounds the release of a lease.
const releaseTimeout = time.Second

// Lease is held by at most one replica of those that share a store.
type Lease struct {
	store  Store
	name   string
	term   time.Duration
	holder uuid.UUID
}

// NewLease returns a lease that nobody holds. Once acquired, it expires after the term unless it is renewed.
func NewLease(s Store, name string, term time.Duration) *Lease {
	return &Lease{store: s, name: name, term: term, holder: s.NewID()}
}

// Acquire acquires the lease or renews it. It returns false when another replica holds it.
func (l *Lease) Acquire(ctx context.Context) (held bool, err error) {
	return l.store.TakeLease(ctx, l.name, l.holder, l.store.Now().Add(l.term))
}

// Release ends the lease at once, also when ctx has ended. A lease that is not released expires.
func (l *Lease) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return l.store.EndLease(ctx, l.name, l.holder)
}

// Lead does work if the lease is free, renews the lease meanwhile, and releases it afterwards. The context of the work ends with the
// lease, and its cause matches ErrLost then. Lead returns false when another replica holds the lease.
func (l *Lease) Lead(ctx context.Context, work func(ctx context.Context) error) (held bool, err error) {
	acquired := time.Now()
	if held, err = l.Acquire(ctx); err != nil || !held {
		return held, err
	}
	leading, stop := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		ticker := time.NewTicker(l.term / 3)
		defer ticker.Stop()
		stop(Renew(leading, ticker.C, acquired, l.term, l.Acquire))
	})
	err = work(leading)
	stop(nil)
	renewing.Wait()
	if lost := context.Cause(leading); errors.Is(lost, ErrLost) {
		return true, errors.Join(err, lost)
	}
	return true, errors.Join(err, l.Release(ctx))
}

// Run leads whenever the lease is free, and tries to acquire it at each interval, until ctx ends.
func (l *Lease) Run(ctx context.Context, every time.Duration, log *slog.Logger, work func(ctx context.Context) error) {
	for {
		if _, err := l.Lead(ctx, work); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "failed to lead", "lease", l.name, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// Renew renews a lease at each tick until ctx ends, and then returns nil. Its error matches ErrLost when another holder has the lease, or
// when the lease was not renewed within a term. It measures that by the monotonic clock: by a wall clock that steps back, two holders
// would have the lease until the clock is there again.
func Renew(ctx context.Context, ticks <-chan time.Time, acquired time.Time, term time.Duration, acquire func(ctx context.Context) (held bool, err error)) error {
	end := acquired.Add(term)
	expiry := time.NewTimer(time.Until(end))
	defer expiry.Stop()
	failure := errors.New("no renewal within its term")
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-expiry.C:
			return fmt.Errorf("%w: %w", ErrLost, failure)
		case <-ticks:
		}
		began := time.Now()
		within, cancel := context.WithDeadline(ctx, end)
		held, err := acquire(within)
		cancel()
		switch {
		case err != nil:
			failure = err
		case !held:
			return fmt.Errorf("%w: another replica holds it", ErrLost)
		default:
			end = began.Add(term)
			expiry.Reset(time.Until(end))
		}
	}
}
