package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// left inserts documents with effects that the relay does not know of, as a crash leaves them.
func (w *world) left(n int, effects func(i int) []store.Effect) {
	w.Helper()
	for i := range n {
		id := uuid.New()
		require.NoError(w, w.flows.Insert(w.Context(), w.ws, &orchv1.Flow{Id: id.String(), Name: id.String()}, effects(i)...))
	}
}

// TestAnOutageOfTheBrokerSuspendsAKind: during an outage one effect of a kind is attempted each second, no document records it, and
// other kinds go on. Afterwards all effects are executed by themselves.
func TestAnOutageOfTheBrokerSuspendsAKind(t *testing.T) {
	t.Parallel()
	for _, mixed := range [][]string{nil, {"publish", "store"}} {
		t.Run(fmt.Sprint("mixed ", mixed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const documents = 1200
			var away atomic.Bool
			away.Store(true)
			publish := &counter{fail: func(string) error {
				if away.Load() {
					return fmt.Errorf("publish: %w", broker.ErrUnavailable)
				}
				return nil
			}}
			others := &counter{}
			w.left(documents, func(i int) []store.Effect {
				return []store.Effect{w.effect("store", fmt.Sprint("first ", i)), w.effect("publish", fmt.Sprint(i)), w.effect("store", fmt.Sprint("last ", i))}
			})
			w.left(1, func(int) []store.Effect { return []store.Effect{w.effect("store", "alone")} })
			relay := w.relayWith(handlers{"publish": publish.handle, "store": others.handle}, mixed, func(*outbox.Config) {})
			began := time.Now()
			running(t, relay)
			runningWorker(t, outbox.Sweeper{Relay: relay})
			require.Eventually(t, func() bool { return others.count("alone") == 1 }, time.Minute, time.Millisecond, "it is behind the page that waits")
			require.Eventually(t, func() bool { return others.count("first 7") > 0 }, time.Minute, time.Millisecond)
			require.Zero(t, others.count("last 7"))
			publish.mu.Lock()
			// Four workers may meet the outage at once, each with a batch and then one document.
			require.LessOrEqual(t, publish.calls, 2*4+int(time.Since(began)/time.Second)+1)
			attempts := publish.calls
			publish.mu.Unlock()
			records, err := w.store.DueAgain(t.Context(), query.Flow, time.Time{}, time.Now().Add(time.Hour), nil, documents)
			require.NoError(t, err)
			require.LessOrEqual(t, len(records), attempts)

			away.Store(false)
			require.Eventually(t, func() bool {
				pending, _, err := relay.Backlog(t.Context())
				return err == nil && pending == 0
			}, time.Minute, 10*time.Millisecond)
			for i := range documents {
				require.Equal(t, 1, publish.count(fmt.Sprint(i)), i)
				require.Positive(t, others.count(fmt.Sprint("last ", i)), i)
			}
			require.Empty(t, w.deadLetters())
		})
	}
}

// TestAnEffectThatMeetsAnOutageForEver: an outage that only one effect meets, while store and broker respond, is a failure of the
// effect. It ends in the dead letters, and delays no other effect of its kind.
func TestAnEffectThatMeetsAnOutageForEver(t *testing.T) {
	t.Parallel()
	responds := func(context.Context) error { return nil }
	for name, c := range map[string]struct {
		err    error
		broker func(context.Context) error
		dead   bool
	}{
		"store":               {store.ErrUnavailable, nil, true},
		"time limit":          {context.DeadlineExceeded, nil, true},
		"broker, responds":    {broker.ErrUnavailable, responds, true},
		"broker, unavailable": {broker.ErrUnavailable, func(context.Context) error { return errors.New("away") }, false},
		"broker, unknown":     {broker.ErrUnavailable, nil, false},
	} {
		for _, mixed := range [][]string{nil, {"test"}} {
			t.Run(fmt.Sprint(name, ", mixed ", mixed), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				counted := &counter{fail: failOn("bad", fmt.Errorf("execute: %w", c.err))}
				var bad uuid.UUID
				if c.dead {
					bad = w.insert(w.effect("test", "bad"))
					require.NoError(t, w.store.Defer(t.Context(), query.Flow, store.Failure{
						DocumentKey: store.DocumentKey{Workspace: w.ws, ID: bad}, Attempts: 19, NextAt: w.store.Now().Add(-time.Second),
					}))
				} else {
					bad = w.insert(w.effect("test", "bad"))
				}
				const documents = 20
				w.left(documents, func(i int) []store.Effect { return []store.Effect{w.effect("test", fmt.Sprint(i))} })
				relay := w.relayWith(handlers{"test": counted.handle}, mixed, func(config *outbox.Config) { config.Broker = c.broker })
				running(t, relay)
				runningWorker(t, outbox.Sweeper{Relay: relay})
				require.Eventually(t, func() bool {
					for i := range documents {
						if counted.count(fmt.Sprint(i)) == 0 {
							return false
						}
					}
					return true
				}, time.Minute, time.Millisecond, "the others are executed")
				if !c.dead {
					require.Zero(t, w.outboxOf(bad).Attempts, "an outage is no attempt")
					require.Empty(t, w.deadLetters())
					return
				}
				require.Eventually(t, func() bool { return len(w.deadLetters()) == 1 }, time.Minute, time.Millisecond)
				require.Contains(t, w.deadLetters()[0].Reason, c.err.Error())
			})
		}
	}
}

// TestACollectionThatFails: the others are swept and measured all the same.
func TestACollectionThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fresh, again := w.insert(w.effect("test", "fresh")), w.insert(w.effect("test", "again"))
	require.NoError(t, w.store.Defer(t.Context(), query.Flow, store.Failure{
		DocumentKey: store.DocumentKey{Workspace: w.ws, ID: again}, Attempts: 1, NextAt: w.store.Now().Add(-time.Second),
	}))
	counted := &counter{}
	relay := w.relayWith(handlers{"test": counted.handle}, nil, func(c *outbox.Config) {
		c.Collections = []query.Collection{"", query.Flow} // No collection can have that name.
	})
	pending, oldest, err := relay.Backlog(t.Context())
	require.ErrorContains(t, err, "sweep ")
	require.EqualValues(t, 2, pending)
	require.Positive(t, oldest)
	running(t, relay)
	_, err = relay.Sweep(t.Context(), -time.Second)
	require.ErrorContains(t, err, "sweep ")
	require.Eventually(t, func() bool { return counted.count("fresh") == 1 && counted.count("again") == 1 }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return len(w.outboxOf(fresh).Effects) == 0 }, time.Minute, time.Millisecond)
}
