package broker

import (
	"context"
	"fmt"
)

// revisionWaiter waits until the watch has handled a revision.
type revisionWaiter struct {
	revision uint64
	done     chan struct{} // Closed then.
}

// CatchUp returns nil when the watch has handled everything that the bucket held when CatchUp was called. It returns
// ErrUnavailable when the broker does not respond, and when ctx ends first.
func (k *KV) CatchUp(ctx context.Context) error {
	bound, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	stream, err := k.conn.js.Stream(bound, "KV_"+k.bucket)
	if err != nil {
		return unavailable(ctx, "asking bucket "+k.bucket+" for its revision", err)
	}
	w := revisionWaiter{stream.CachedInfo().State.LastSeq, make(chan struct{})}
	k.mu.Lock()
	if k.complete && k.seen >= w.revision {
		k.mu.Unlock()
		return nil
	}
	k.waiters = append(k.waiters, w)
	k.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-bound.Done():
		k.forget(w)
		return fmt.Errorf("catch up with bucket %s: %w: %w", k.bucket, ErrUnavailable, bound.Err())
	}
}

// release wakes the waiters whose revision was handled. The caller holds the lock.
func (k *KV) release() {
	kept := k.waiters[:0]
	for _, w := range k.waiters {
		if k.complete && k.seen >= w.revision {
			close(w.done)
		} else {
			kept = append(kept, w)
		}
	}
	clear(k.waiters[len(kept):])
	k.waiters = kept
}

func (k *KV) forget(w revisionWaiter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.waiters {
		if k.waiters[i].done == w.done {
			k.waiters = append(k.waiters[:i], k.waiters[i+1:]...)
			return
		}
	}
}
