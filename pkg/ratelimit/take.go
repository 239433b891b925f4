package ratelimit

import (
	"context"
	"time"
)

// Take takes n tokens from every bucket and returns no bucket and no error, or takes none. It returns the bucket with the longest wait if
// one has too few, and an error if the shared states are unavailable. n is at most the burst of each bucket. Nil buckets have all tokens.
// All callers name the buckets in the same order, from the narrow to the wide, because they are locked in that order.
func Take(ctx context.Context, n int, buckets ...*Bucket) (full *Bucket, wait time.Duration, err error) {
	full, wait, lacking := take(n, true, buckets)
	if lacking == nil {
		return full, wait, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	for lacking != nil {
		if err := lacking.lease(ctx, n); err != nil {
			return nil, 0, err
		}
		full, wait, lacking = take(n, false, buckets)
	}
	return full, wait, nil
}

// take is Take without leases. It returns a bucket that lacks tokens in stock if a lease may find them; then it has taken none. counts
// adds the tokens to the demand.
func take(n int, counts bool, buckets []*Bucket) (full *Bucket, wait time.Duration, lacking *Bucket) {
	var now time.Time
	refused := false
	for _, b := range buckets {
		if b == nil {
			continue
		}
		if now.IsZero() {
			now = b.limiter.clock.Now()
		}
		b.mu.Lock()
		if counts {
			b.countDemand(n, now)
		}
		if b.stock >= n {
			continue
		}
		own, fresh := b.wait(n, now)
		if own > wait {
			full, wait = b, own
		}
		if own > 0 && fresh {
			refused = true
		} else {
			lacking = b
		}
	}
	switch {
	case refused:
		lacking = nil
	case lacking != nil:
		full, wait = nil, 0
	}
	for _, b := range buckets {
		if b == nil {
			continue
		}
		if full == nil && lacking == nil {
			b.stock -= n
		}
		b.mu.Unlock()
	}
	return full, wait, lacking
}
