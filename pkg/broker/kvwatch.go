package broker

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
)

// staleAfter is how long a watch may lag behind the bucket before it is restarted.
const staleAfter = 10 * time.Second

var errStale = errors.New("watch lags behind the bucket")

// Change is one change of a bucket.
type Change struct {
	// InitialDone marks the end of the initial values; the other fields are then empty.
	InitialDone bool

	Key      string
	Value    []byte // Owned by the receiver.
	Deleted  bool   // The key was removed: Value is empty.
	Revision uint64
}

// Watch passes the current values of all keys to handle, then one Change with InitialDone, then each change as it
// happens. It returns nil when ctx ends (ErrClosed when the connection was closed first). One goroutine calls handle.
//
// Of several quick changes of one key Watch may deliver only the last one. After an interruption it may deliver the
// values again, with another InitialDone; a key that was removed in between is delivered as Deleted. So a receiver that
// applies every Change converges to the bucket. A KV has one watch, which LastContact describes.
func (k *KV) Watch(ctx context.Context, handle func(Change)) error {
	owner := ctx
	ctx, cancel := context.WithCancel(owner)
	defer cancel()
	defer context.AfterFunc(k.conn.ctx, cancel)()
	k.addWatch(1)
	defer k.addWatch(-1)
	present := map[string]bool{}
	for ctx.Err() == nil {
		err := k.watch(ctx, present, handle)
		if ctx.Err() != nil {
			break
		}
		k.conn.log.WarnContext(ctx, "failed to watch a key-value bucket, watching again", "bucket", k.bucket, "error", err)
		clock.Pause(ctx, 500*time.Millisecond)
	}
	if owner.Err() == nil {
		return ErrClosed
	}
	return nil
}

func (k *KV) addWatch(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watching += n; n > 0 {
		k.complete, k.seen, k.awaited, k.contact = false, 0, 0, time.Time{}
	}
}

// watch runs one watcher until it ends, lags or ctx ends. present holds the keys that the receiver has: keys of earlier watchers that are
// not among the initial values were removed, and compacted, in between.
func (k *KV) watch(ctx context.Context, present map[string]bool, handle func(Change)) error {
	missing := maps.Clone(present)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watcher, err := k.kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_ = watcher.Stop() // Fails when disconnected; the consumer then expires at the server.
		for range watcher.Updates() {
			// This ends the goroutine of the library.
		}
	}()
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return errors.New("watcher ended")
			case entry == nil:
				for key := range missing {
					delete(present, key)
					handle(Change{Key: key, Deleted: true})
				}
				clear(missing)
				k.caughtUp(ctx)
				handle(Change{InitialDone: true})
			default:
				change := newChange(entry)
				if delete(missing, change.Key); change.Deleted {
					delete(present, change.Key)
				} else {
					present[change.Key] = true
				}
				handle(change)
				k.saw(entry.Revision())
			}
		case <-ticker.C:
			if k.lagging() {
				return errStale
			}
		}
	}
}

func newChange(entry jetstream.KeyValueEntry) Change {
	c := Change{Key: entry.Key(), Revision: entry.Revision()}
	if entry.Operation() == jetstream.KeyValuePut {
		c.Value = entry.Value()
	} else {
		c.Deleted = true
	}
	return c
}

// caughtUp records that the initial values are handled, and requests the bucket's revision at once to verify it.
func (k *KV) caughtUp(ctx context.Context) {
	k.mu.Lock()
	k.complete = true
	k.release()
	k.mu.Unlock()
	k.probe(ctx)
}

// saw records that all changes up to revision are handled.
func (k *KV) saw(revision uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen = max(k.seen, revision)
	k.release()
	if k.awaited != 0 && k.seen >= k.awaited {
		k.contact, k.awaited = k.awaitedAt, 0
	}
}

// lagging reports whether the watch has not handled a revision for too long.
func (k *KV) lagging() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.awaited == 0 || time.Since(k.awaitedAt) < staleAfter {
		return false
	}
	k.awaited = 0 // The next watcher has its own deadline.
	return true
}
