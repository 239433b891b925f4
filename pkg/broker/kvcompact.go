package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Entry is a key with its last value, and when it was written.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
	At       time.Time
}

// Entries passes the entries of all keys to visit, in no order, until it returns an error.
func (k *KV) Entries(ctx context.Context, visit func(Entry) error) error {
	bound, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	watcher, err := k.kv.WatchAll(bound, jetstream.IgnoreDeletes())
	if err != nil {
		return unavailable(ctx, "listing bucket "+k.bucket, err)
	}
	defer func() {
		_ = watcher.Stop() // Fails when disconnected; the consumer then expires at the server.
		for range watcher.Updates() {
			// This ends the goroutine of the library.
		}
	}()
	for {
		select {
		case <-bound.Done():
			return unavailable(ctx, "listing bucket "+k.bucket, bound.Err())
		case entry, ok := <-watcher.Updates():
			if !ok {
				return fmt.Errorf("listing bucket %s: %w: the watch ended", k.bucket, ErrUnavailable)
			}
			if entry == nil { // It marks the end of the initial values.
				return nil
			}
			if err := visit(Entry{entry.Key(), entry.Value(), entry.Revision(), entry.Created()}); err != nil {
				return err
			}
		}
	}
}

// maxCompacted bounds the keys that one call of Compact removes, hence its memory.
const maxCompacted = 10_000

// Compact removes the entries that are tombstones and older than age, and the markers of keys that were removed longer ago. An entry
// that was changed since stays. So a writer must not be delayed for longer than age: it could restore an entry that a tombstone deleted.
func (k *KV) Compact(ctx context.Context, age time.Duration, tombstone func(value []byte) bool) error {
	before := time.Now().Add(-age)
	var old []Entry
	err := k.Entries(ctx, func(e Entry) error {
		if len(old) < maxCompacted && e.At.Before(before) && tombstone(e.Value) {
			old = append(old, Entry{Key: e.Key, Revision: e.Revision})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return k.purge(ctx, age, old)
}

// CompactDeleted removes the markers of keys that were removed longer than age ago. An age of 0 stands for half an hour.
func (k *KV) CompactDeleted(ctx context.Context, age time.Duration) error {
	return k.purge(ctx, age, nil)
}

func (k *KV) purge(ctx context.Context, age time.Duration, old []Entry) error {
	bound, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	for _, e := range old {
		if err := k.kv.Purge(bound, e.Key, jetstream.LastRevision(e.Revision)); err != nil && !wrongRevision(err) {
			return unavailable(ctx, "compacting bucket "+k.bucket, err)
		}
	}
	return unavailable(ctx, "compacting bucket "+k.bucket, k.kv.PurgeDeletes(bound, jetstream.DeleteMarkersOlderThan(age)))
}
