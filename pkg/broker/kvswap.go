package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// swapAttempts bounds the attempts after lost races.
	swapAttempts = 20
	// swapPause is the most that a writer pauses after its first lost race; each further race adds as much.
	swapPause = time.Millisecond
)

// Swap changes a key by compare-and-set. decide receives the key's value, or nil without one. It returns the new value;
// nil means no change. After a lost race decide is called again, so it must read everything that it depends on anew.
// Swap returns an error of decide unchanged.
func (k *KV) Swap(ctx context.Context, key string, decide func(current []byte) (next []byte, err error)) error {
	bound, unbind := k.conn.epoch.bind(ctx)
	defer unbind()
	for attempt := range swapAttempts {
		entry, err := k.kv.Get(bound, key)
		absent := errors.Is(err, jetstream.ErrKeyNotFound)
		if err != nil && !absent {
			return unavailable(ctx, "getting from bucket "+k.bucket, err)
		}
		var current []byte
		if !absent {
			current = entry.Value()
		}
		next, err := decide(current)
		if err != nil || next == nil {
			return err
		}
		if absent {
			_, err = k.kv.Create(bound, key, next)
		} else {
			_, err = k.kv.Update(bound, key, next, entry.Revision())
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) && !wrongRevision(err) {
			return unavailable(ctx, "putting into bucket "+k.bucket, err)
		}
		clock.Pause(bound, rand.N(time.Duration(attempt+1)*swapPause)) // Writers that lose together must not try again together.
	}
	return fmt.Errorf("put %q into bucket %s: lost every race to other writers: %w", key, k.bucket, ErrUnavailable)
}

func wrongRevision(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}
