package outbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestDeadLettersAreEncryptedWithTheNewestKey: after an interruption the next call continues, and then the newest key alone opens them.
func TestDeadLettersAreEncryptedWithTheNewestKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &counter{fail: failOn("x", store.Permanent(errors.New("not yet mended")))}
	relay := w.relayOf(handlers{"test": c.handle})
	const letters = 3
	for range letters {
		require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, w.insert(w.effect("test", "x"))))
	}
	newest, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	w.keys = newest.With(w.keys)
	both := w.relayOf(handlers{"test": c.handle})

	interrupted := errors.New("interrupted")
	require.ErrorIs(t, both.Reencrypt(t.Context(), true, func(bool, error) error { return interrupted }), interrupted)
	pass := func(relay *outbox.Relay, ctx context.Context) (changed, failed int) {
		require.NoError(t, relay.Reencrypt(ctx, true, func(encrypted bool, err error) error {
			if err != nil {
				failed++
			} else if encrypted {
				changed++
			}
			return nil
		}))
		return changed, failed
	}
	changed, failed := pass(both, t.Context())
	require.Equal(t, letters-1, changed, "the interrupted pass encrypted one")
	require.Zero(t, failed)
	changed, _ = pass(both, t.Context())
	require.Zero(t, changed)

	w.keys = newest
	alone := w.relayOf(handlers{"test": c.handle})
	c.fail = nil
	for _, letter := range w.deadLetters() {
		require.NoError(t, alone.RetryDeadLetter(t.Context(), letter.ID))
	}
	require.Equal(t, letters, c.count("x"))
}
