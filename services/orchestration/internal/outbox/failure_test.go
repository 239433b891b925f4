package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/secrets"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func testKeys(t testing.TB) secrets.Keyring {
	ring, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	return ring
}

// insert writes a flow with effects, and returns its id.
func (w *world) insert(effects ...store.Effect) uuid.UUID {
	w.Helper()
	id := uuid.New()
	require.NoError(w, w.flows.Insert(w.Context(), w.ws, &orchv1.Flow{Id: id.String(), Name: id.String()}, effects...))
	return id
}

func (w *world) outboxOf(id uuid.UUID) store.Outbox {
	w.Helper()
	boxes, _, err := w.store.PendingOf(w.Context(), query.Flow, []store.DocumentKey{{Workspace: w.ws, ID: id}})
	require.NoError(w, err)
	if len(boxes) == 0 {
		return store.Outbox{}
	}
	return boxes[0]
}

func (w *world) deadLetters() []store.DeadLetter {
	w.Helper()
	letters, err := w.store.DeadLetters(w.Context(), uuid.Nil, uuid.Nil, 10_000)
	require.NoError(w, err)
	return letters
}

// counter is a handler that counts executions by body, and fails as fail says.
type counter struct {
	mu       sync.Mutex
	executed map[string]int
	calls    int
	fail     func(body string) error
}

func (c *counter) handle(_ context.Context, effects []store.Effect) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	for _, e := range effects {
		if c.fail != nil {
			if err := c.fail(string(e.Body)); err != nil {
				return err
			}
		}
	}
	for _, e := range effects {
		if c.executed == nil {
			c.executed = map[string]int{}
		}
		c.executed[string(e.Body)]++
	}
	return nil
}

func (c *counter) count(body string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.executed[body]
}

func failOn(bad string, err error) func(string) error {
	return func(body string) error {
		if body == bad {
			return err
		}
		return nil
	}
}

func TestAPermanentFailureBecomesADeadLetterAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]error{
		"too large": fmt.Errorf("publish: %w", broker.ErrTooLarge),
		"invalid":   broker.ErrInvalidEvent,
		"marked":    store.Permanent(errors.New("cannot be decoded")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := &counter{fail: failOn("a secret that nobody may read", reason)}
			relay := w.relayOf(handlers{"test": c.handle})
			id := w.insert(w.effect("test", "1"), w.effect("test", "a secret that nobody may read"), w.effect("test", "2"), w.effect("unknown", "3"), w.effect("test", "4"))
			require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, id))
			for _, body := range []string{"1", "2", "4"} {
				require.Equal(t, 1, c.count(body), body)
			}
			require.Empty(t, w.outboxOf(id).Effects)
			letters := w.deadLetters()
			require.Len(t, letters, 2)
			for _, letter := range letters {
				require.Equal(t, id, letter.Document)
				require.Equal(t, query.Flow, letter.Collection)
				require.False(t, bytes.Contains(letter.Body, []byte("secret")), "the body is encrypted")
				if letter.Kind == "unknown" {
					require.Contains(t, letter.Reason, `no handler registered for effect kind "unknown"`)
				} else {
					require.Contains(t, letter.Reason, reason.Error())
				}
			}
		})
	}
}

func TestADeadLetterIsRetriedAndDiscarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &counter{fail: failOn("x", store.Permanent(errors.New("not yet mended")))}
	relay := w.relayOf(handlers{"test": c.handle})
	require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, w.insert(w.effect("test", "x"))))
	letter := w.deadLetters()[0]
	require.ErrorContains(t, relay.RetryDeadLetter(t.Context(), letter.ID), "not yet mended")
	require.Equal(t, letter.Attempts+1, w.deadLetters()[0].Attempts)
	c.fail = nil
	require.NoError(t, relay.RetryDeadLetter(t.Context(), letter.ID))
	require.Equal(t, 1, c.count("x"))
	require.Empty(t, w.deadLetters())
	require.ErrorIs(t, relay.RetryDeadLetter(t.Context(), letter.ID), store.ErrNotFound)

	require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, w.insert(w.effect("gone", "y"))))
	require.Equal(t, retention, w.deadLetters()[0].Expires.Sub(w.deadLetters()[0].FailedAt).Round(time.Second))
	require.NoError(t, relay.DiscardDeadLetter(t.Context(), w.deadLetters()[0].ID))
	require.Empty(t, w.deadLetters())
	require.Zero(t, c.count("y"))
}

// TestAFailedRetryWithoutRetentionEndsTheExpiry: a letter that was written with a retention must not expire by it after an operator
// has set the retention to 0.
func TestAFailedRetryWithoutRetentionEndsTheExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	relay := w.relayOf(handlers{})
	require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, w.insert(w.effect("unknown", "x"))))
	letter := w.deadLetters()[0]
	require.NotZero(t, letter.Expires)
	restarted := w.relayRetaining(0, handlers{})
	require.ErrorIs(t, restarted.RetryDeadLetter(t.Context(), letter.ID), outbox.ErrRetryFailed)
	require.Zero(t, w.deadLetters()[0].Expires)
}

func TestABlockingEffectHoldsItsDocumentUntilItsDeadLetterIsResolved(t *testing.T) {
	t.Parallel()
	for _, resolution := range []string{"retry", "discard"} {
		t.Run(resolution, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := &counter{fail: failOn("empty", store.Permanent(errors.New("refused")))}
			relay := w.relayOf(handlers{"blocking": c.handle, "test": c.handle})
			id := w.insert()
			require.NoError(t, w.flows.Delete(t.Context(), w.ws, id, func(*orchv1.Flow) ([]store.Effect, error) {
				return []store.Effect{w.effect("test", "before"), w.effect("blocking", "empty"), w.effect("test", "behind")}, nil
			}))
			require.Error(t, relay.Flush(t.Context(), query.Flow, w.ws, id))
			require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, id), "a blocked document is left alone")
			require.True(t, w.outboxOf(id).Blocked)
			require.Equal(t, []int{1, 0}, []int{c.count("before"), c.count("behind")})
			letter := w.deadLetters()[0]
			require.True(t, letter.Blocking)
			require.Zero(t, letter.Expires, "a blocking dead letter stays")
			c.fail = nil
			if resolution == "retry" {
				require.NoError(t, relay.RetryDeadLetter(t.Context(), letter.ID))
			} else {
				require.NoError(t, relay.DiscardDeadLetter(t.Context(), letter.ID))
			}
			require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, id))
			require.Equal(t, 1, c.count("behind"))
			require.Equal(t, uuid.Nil, w.outboxOf(id).ID, "the document is removed")
			require.Empty(t, w.deadLetters())
		})
	}
}

// Finding 1 of the failure lane: a sweep read the same 1,000 documents again and again, and never the one behind them.
func TestStuckDocumentsDoNotStarveAHealthyOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const stuck = 1100
	swept := w.flows // Without a relay: all of them wait for the sweeper.
	c := &counter{fail: func(body string) error {
		if body != "healthy" {
			return errors.New("not now")
		}
		return nil
	}}
	relay := w.relayOf(handlers{"test": c.handle})
	for range stuck {
		id := uuid.New()
		require.NoError(t, swept.Insert(t.Context(), w.ws, &orchv1.Flow{Id: id.String(), Name: id.String()}, w.effect("test", "stuck")))
	}
	id := uuid.New()
	require.NoError(t, swept.Insert(t.Context(), w.ws, &orchv1.Flow{Id: id.String(), Name: "healthy"}, w.effect("test", "healthy")))
	running(t, relay)
	require.Eventually(t, func() bool {
		_, err := relay.Sweep(t.Context(), -time.Second)
		return err == nil && c.count("healthy") == 1
	}, 30*time.Second, 10*time.Millisecond)
}

// TestEffectsOfTheFutureAreSwept: a clock that stepped back left effects, and failures, with times that it reaches again after an
// hour.
func TestEffectsOfTheFutureAreSwept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ahead := w.store.Now().Add(time.Hour)
	effect := func(body string) store.Effect {
		return store.Effect{ID: uuid.New(), At: ahead, Kind: "test", Body: []byte(body)}
	}
	w.insert(effect("fresh"))
	require.NoError(t, w.store.Defer(t.Context(), query.Flow, store.Failure{DocumentKey: store.DocumentKey{Workspace: w.ws, ID: w.insert(effect("failed"))}, Attempts: 3, NextAt: ahead}))
	blocked := w.insert(effect("blocked"))
	require.NoError(t, w.store.Defer(t.Context(), query.Flow, store.Failure{DocumentKey: store.DocumentKey{Workspace: w.ws, ID: blocked}, Attempts: 1, Blocked: "test"}))
	c := &counter{}
	relay := w.relayOf(handlers{"test": c.handle})
	running(t, relay)
	runningWorker(t, outbox.Sweeper{Relay: relay})
	require.Eventually(t, func() bool { return c.count("fresh") == 1 && c.count("failed") == 1 }, time.Minute, time.Millisecond)
	require.True(t, w.outboxOf(blocked).Blocked)
	require.Zero(t, c.count("blocked"))
}

// One document that fails costs the others of its batch nothing: they are executed once, in a few more calls.
func TestABadDocumentDoesNotRepeatItsBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &counter{fail: failOn("bad", store.Permanent(errors.New("refused")))}
	relay := w.relayOf(handlers{"a": c.handle}, "a")
	const documents = 128
	for i := range documents {
		body := fmt.Sprint(i)
		if i == 77 {
			body = "bad"
		}
		w.insert(w.effect("a", body))
	}
	running(t, relay)
	require.Eventually(t, func() bool {
		pending, _, err := relay.Backlog(t.Context())
		return err == nil && pending == 0
	}, 10*time.Second, time.Millisecond)
	for i := range documents {
		if i != 77 {
			require.Equal(t, 1, c.count(fmt.Sprint(i)), i)
		}
	}
	require.Len(t, w.deadLetters(), 1)
	require.Less(t, c.calls, 24)
}

func TestFailuresAreRecordedAndOutagesAreNoAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failure := errors.New("not now")
	c := &counter{fail: func(string) error { return failure }}
	relay := w.relayOf(handlers{"test": c.handle})
	running(t, relay)
	id := w.insert(w.effect("test", "x"))
	eventually := func(condition func(box store.Outbox) bool) {
		t.Helper()
		require.Eventually(t, func() bool { return condition(w.outboxOf(id)) }, time.Minute, time.Millisecond)
	}
	eventually(func(box store.Outbox) bool { return box.Attempts == 1 && box.Deferred })
	c.mu.Lock()
	failure = fmt.Errorf("publish: %w", broker.ErrUnavailable)
	calls := c.calls
	c.mu.Unlock()
	require.Eventually(t, func() bool {
		// A wake-up during the failing execution leaves the document to the sweeper, which does not run here.
		relay.Wake(query.Flow, w.ws, id)
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.calls > calls
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, 1, w.outboxOf(id).Attempts, "an outage is no attempt")
	c.mu.Lock()
	c.fail = nil
	c.mu.Unlock()
	require.Eventually(t, func() bool {
		relay.Wake(query.Flow, w.ws, id)
		box := w.outboxOf(id)
		return len(box.Effects) == 0 && !box.Deferred && box.Attempts == 0
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, 1, c.count("x"))
}
