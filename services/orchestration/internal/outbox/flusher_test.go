package outbox_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// A response waits for the effects of its write until the flush deadline. After it, a read shows what was there before the
// write, until the relay executes the effects.
func TestAResponseWaitsForItsEffectsUntilTheFlushDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &counter{}
	slow := func(ctx context.Context, effects []store.Effect) error {
		if _, flushing := ctx.Deadline(); flushing { // The first attempt takes longer than any deadline.
			<-ctx.Done()
			return ctx.Err()
		}
		return c.handle(ctx, effects)
	}
	relay := w.relayOf(handlers{"test": slow, "fast": c.handle})
	id := w.insert(w.effect("test", "late"))
	outbox.NewFlusher(relay, time.Millisecond, slog.New(slog.DiscardHandler)).Flush(t.Context(), query.Flow, w.ws, id)
	require.Zero(t, c.count("late"), "the deadline ended the wait")
	require.Len(t, w.outboxOf(id).Effects, 1, "the effect is not lost")
	running(t, relay)
	require.Eventually(t, func() bool { return c.count("late") == 1 }, time.Minute, time.Millisecond)

	id = w.insert(w.effect("fast", "in time"))
	outbox.NewFlusher(relay, time.Minute, slog.New(slog.DiscardHandler)).Flush(t.Context(), query.Flow, w.ws, id)
	require.Equal(t, 1, c.count("in time"), "executed before the response")
}

// A caller that flushes a document executes effects of other callers too, and they must not count as its own.
func TestHandlersOfAFlushHaveNoRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var errs []error
	relay := w.relayOf(handlers{"test": func(ctx context.Context, _ []store.Effect) error {
		_, err := request.Incoming(ctx)
		errs = append(errs, err)
		return nil
	}})
	ctx := requesttest.Incoming(t, w.ws)
	_, err := request.Incoming(ctx)
	require.NoError(t, err)
	require.NoError(t, relay.Flush(ctx, query.Flow, w.ws, w.insert(w.effect("test", "x"))))
	require.Len(t, errs, 1)
	require.ErrorIs(t, errs[0], request.ErrNoWorkspace)
}
