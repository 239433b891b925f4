package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Bucket is a token bucket that processes share. Limiter.Bucket returns it. It is safe for concurrent use.
type Bucket struct {
	limiter *Limiter
	key     string

	mu      sync.Mutex
	limit   Limit
	stock   int           // Leased tokens that nobody has taken.
	known   state         // The shared state after the last lease: others may only have taken tokens since, or returned a few.
	leased  time.Time     // When the last lease ended.
	scarce  bool          // The last lease got fewer tokens than the process wanted.
	leasing chan struct{} // Closed when the lease in progress ends; nil without one.
	failure error         // Of the last lease; nil after a success.

	// demand counts the tokens that the process needs in the current window, which begins at windowStart and lasts for leaseTime.
	// previousDemand counts the tokens of the preceding window.
	windowStart            time.Time
	demand, previousDemand int
}

// Burst is the number of tokens of a full bucket.
func (b *Bucket) Burst() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit.Burst
}

// countDemand counts tokens that the process needs. The caller holds the lock.
func (b *Bucket) countDemand(n int, now time.Time) {
	if passed := now.Sub(b.windowStart); passed < 0 || passed >= leaseTime {
		b.previousDemand = 0
		if passed > 0 && passed < 2*leaseTime {
			b.previousDemand = b.demand
		}
		b.windowStart, b.demand = now, 0
	}
	b.demand += n
}

// leaseSize is the number of tokens that the process leases if it needs one. The caller holds the lock.
func (b *Bucket) leaseSize() int {
	return min(max(b.demand, b.previousDemand), max(1, b.limit.Burst/20, int(b.limit.gain(leasePause))))
}

// sinceLease returns the time from the last lease until now. A clock that was stepped back permits a lease at once. The caller holds the
// lock.
func (b *Bucket) sinceLease(now time.Time) time.Duration {
	if passed := now.Sub(b.leased); passed >= -maxSkew {
		return passed
	}
	return leaseTimeout
}

// wait returns how long n tokens must wait, as far as the process knows. The wait is fresh if the process has read the shared state within
// leaseTime: in a longer time others may have returned tokens. The caller holds the lock.
func (b *Bucket) wait(n int, now time.Time) (wait time.Duration, fresh bool) {
	wait = b.known.refilled(b.limit, now).wait(b.limit, n-b.stock)
	if b.scarce {
		// The bucket must not be full before the next lease: it would lose tokens.
		half := time.Duration(float64(b.limit.Burst) / 2 / b.limit.rate() * float64(time.Second))
		wait = max(wait, min(leasePause, half)-b.sinceLease(now))
	}
	return wait, b.sinceLease(now) < leaseTime
}

// lease adds at least the tokens that n lack to the stock, if the shared bucket has them. Concurrent calls share one lease.
func (b *Bucket) lease(ctx context.Context, n int) error {
	b.mu.Lock()
	now := b.limiter.clock.Now()
	switch {
	case b.leasing != nil:
		done := b.leasing
		b.mu.Unlock()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("wait for a lease of tokens: %w", ctx.Err())
		}
	case b.failure != nil && b.sinceLease(now) < leaseTimeout:
		defer b.mu.Unlock()
		return b.failure
	case b.stock >= n:
		b.mu.Unlock()
		return nil
	}
	done := make(chan struct{})
	b.leasing = done
	least, limit := n-b.stock, b.limit
	want := max(least, b.leaseSize())
	b.mu.Unlock()

	leased := 0
	var known state
	err := b.limiter.states.Swap(ctx, b.key, func(current []byte) ([]byte, error) {
		now := b.limiter.clock.Now()
		stored := decodeState(current, limit, now)
		known, leased = stored.refilled(limit, now), 0
		if tokens := known.tokens(limit); tokens >= least {
			leased = min(tokens, want)
			known.missing += float64(leased)
		} else if !stored.at.After(now.Add(maxSkew)) { // After a step back of the clock the state must refill from now on.
			return nil, nil
		}
		return known.encode(), nil
	})
	if err != nil {
		err = fmt.Errorf("lease tokens of %s: %w", b.key, err)
	}
	b.mu.Lock()
	b.leased, b.failure, b.leasing = b.limiter.clock.Now(), err, nil
	if err == nil {
		b.known, b.scarce, b.stock = known, leased < want, b.stock+leased
	}
	b.mu.Unlock()
	close(done)
	if leased > 0 {
		b.limiter.mu.Lock()
		b.limiter.stocked[b] = struct{}{}
		b.limiter.mu.Unlock()
	}
	return err
}

// returnStock returns the stock if the last lease has at least an age. After a failure the tokens are lost: the broker may have them.
func (b *Bucket) returnStock(ctx context.Context, age time.Duration) {
	b.mu.Lock()
	if b.leasing != nil || b.sinceLease(b.limiter.clock.Now()) < age {
		b.mu.Unlock()
		return
	}
	stock, limit := b.stock, b.limit
	b.stock = 0
	b.mu.Unlock()
	if stock > 0 {
		_ = b.limiter.states.Swap(ctx, b.key, func(current []byte) ([]byte, error) {
			now := b.limiter.clock.Now()
			s := decodeState(current, limit, now).refilled(limit, now)
			s.missing = max(0, s.missing-float64(stock))
			return s.encode(), nil
		})
	}
	b.limiter.mu.Lock()
	defer b.limiter.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stock == 0 {
		delete(b.limiter.stocked, b)
	}
}
