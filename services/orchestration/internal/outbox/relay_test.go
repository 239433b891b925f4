package outbox_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func TestMain(m *testing.M) { testkit.Main(m) }

type world struct {
	*testing.T
	store *store.Store
	flows *store.Collection[*orchv1.Flow]
	ws    uuid.UUID
	keys  secrets.Keyring
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	s, err := store.Open(t.Context(), store.Config{
		URI: server.URI(), Database: "orch", Dialer: server.ContextDialer(), Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) { requireShardKey(t, o) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
	return &world{T: t, store: s, flows: store.NewCollection(s, query.Flow, &orchv1.Flow{}), ws: uuid.New(), keys: testKeys(t)}
}

// requireShardKey fails the test when a command names flows by their ids without the shard key.
func requireShardKey(t *testing.T, o *options.ClientOptions) {
	t.Helper()
	var mu sync.Mutex
	var everywhere []string
	judge := func(command, filter bson.RawValue) {
		doc, ok := filter.DocumentOK()
		if !ok || doc.Lookup("_id").IsZero() || !doc.Lookup(query.ShardKey).IsZero() {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		everywhere = append(everywhere, command.StringValue()+": "+doc.String())
	}
	o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		target := e.Command.Index(0).Value()
		if name, ok := target.StringValueOK(); !ok || name != string(query.Flow) {
			return
		}
		for _, filter := range []string{"filter", "query"} {
			judge(target, e.Command.Lookup(filter))
		}
		for _, list := range []string{"updates", "deletes"} {
			array, _ := e.Command.Lookup(list).ArrayOK()
			values, _ := array.Values()
			for _, v := range values {
				judge(target, v.Document().Lookup("q"))
			}
		}
	}})
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		require.Empty(t, everywhere, "commands without the shard key")
	})
}

func (w *world) effect(kind, body string) store.Effect {
	return store.Effect{ID: uuid.New(), At: w.store.Now(), Kind: kind, Body: []byte(body)}
}

// recorder is a handler that records its input and fails a set number of times.
type recorder struct {
	mu    sync.Mutex
	fails int
	seen  []string
	done  chan struct{}
}

func (r *recorder) handle(_ context.Context, effects []store.Effect) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails > 0 {
		r.fails--
		return errors.New("not now")
	}
	for _, e := range effects {
		r.seen = append(r.seen, string(e.Body))
		r.done <- struct{}{}
	}
	return nil
}

func (w *world) relay(r *recorder) *outbox.Relay {
	return w.relayOf(handlers{"test": r.handle})
}

const retention = time.Hour

// handlers have the functions that execute effects, by kind.
type handlers map[string]func(ctx context.Context, effects []store.Effect) error

// relayOf is a relay with these handlers, to which the writes of the collection hand their effects from now on.
func (w *world) relayOf(h handlers, batch ...string) *outbox.Relay {
	w.Helper()
	return w.relayRetaining(retention, h, batch...)
}

// relayRetaining is relayOf with a retention of dead letters.
func (w *world) relayRetaining(retention time.Duration, h handlers, batch ...string) *outbox.Relay {
	w.Helper()
	return w.relayWith(h, batch, func(c *outbox.Config) { c.Retention = retention })
}

// relayWith is relayOf with changes of its configuration. The kind "blocking" blocks its documents.
func (w *world) relayWith(h handlers, batch []string, change func(c *outbox.Config)) *outbox.Relay {
	w.Helper()
	mux := outbox.NewMux()
	for kind, run := range h {
		require.NoError(w, mux.Handle(outbox.Handler{
			Kind: kind, Run: run, Batch: slices.Contains(batch, kind), Blocking: kind == "blocking",
		}))
	}
	config := outbox.Config{
		Store: w.store, Collections: []query.Collection{query.Flow}, Handlers: mux,
		Secrets: w.keys, Retention: retention, Log: slog.New(slog.DiscardHandler),
	}
	change(&config)
	relay := outbox.New(config)
	w.store = w.store.WithRelay(relay)
	w.flows = store.NewCollection(w.store, query.Flow, &orchv1.Flow{})
	return relay
}

func running(t *testing.T, relay *outbox.Relay) {
	t.Helper()
	runningWorker(t, relay)
}

func runningWorker(t *testing.T, worker run.Worker) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

func wait(t *testing.T, r *recorder, n int) {
	t.Helper()
	for range n {
		select {
		case <-r.done:
		case <-time.After(time.Minute):
			t.Fatal("an effect was not executed")
		}
	}
}

func TestEffectsOfOneDocumentKeepTheirOrder(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &recorder{done: make(chan struct{}, 100)}
	running(t, w.relay(r))
	key := uuid.New()
	require.NoError(t, w.flows.Insert(t.Context(), w.ws, &orchv1.Flow{Id: key.String(), Name: "etl"}, w.effect("test", "0")))
	want := []string{"0"}
	for i := range 20 {
		body := string(rune('a' + i))
		_, err := w.flows.Mutate(t.Context(), w.ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
			next := proto.Clone(current).(*orchv1.Flow)
			next.Tags = append(next.Tags, body)
			return &store.Change[*orchv1.Flow]{Message: next, Effects: []store.Effect{w.effect("test", body)}}, nil
		})
		require.NoError(t, err)
		want = append(want, body)
	}
	wait(t, r, len(want))
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(t, want, r.seen)
}

func TestWhatACrashLeftIsSwept(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &recorder{done: make(chan struct{}, 10)}
	// Nobody relays: the process died after the write.
	require.NoError(t, w.flows.Insert(t.Context(), w.ws, &orchv1.Flow{Id: uuid.NewString(), Name: "etl"}, w.effect("test", "left")))
	relay := w.relay(r)
	running(t, relay)
	more, err := relay.Sweep(t.Context(), -time.Second)
	require.NoError(t, err)
	require.False(t, more)
	wait(t, r, 1)
}

func TestFailedEffectsAreExecutedLater(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &recorder{done: make(chan struct{}, 10), fails: 1}
	relay := w.relay(r)
	key := uuid.New()
	require.NoError(t, w.flows.Insert(t.Context(), w.ws, &orchv1.Flow{Id: key.String(), Name: "etl"}, w.effect("test", "x")))
	require.ErrorContains(t, relay.Flush(t.Context(), query.Flow, w.ws, key), "not now")
	pending, err := w.store.Pending(t.Context(), query.Flow, store.DocumentKey{Workspace: w.ws, ID: key})
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, key))
	wait(t, r, 1)
	pending, err = w.store.Pending(t.Context(), query.Flow, store.DocumentKey{Workspace: w.ws, ID: key})
	require.NoError(t, err)
	require.Empty(t, pending)
}

func TestDeletedDocumentGoesLast(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &recorder{done: make(chan struct{}, 10)}
	relay := w.relay(r)
	key := uuid.New()
	require.NoError(t, w.flows.Insert(t.Context(), w.ws, &orchv1.Flow{Id: key.String(), Name: "etl"}))
	require.NoError(t, w.flows.Delete(t.Context(), w.ws, key, func(*orchv1.Flow) ([]store.Effect, error) {
		return []store.Effect{w.effect("test", "deleted")}, nil
	}))
	require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, key))
	wait(t, r, 1)
	due, err := w.store.Due(t.Context(), query.Flow, w.store.Now().Add(time.Hour), 10)
	require.NoError(t, err)
	require.Empty(t, due, "the document is gone")
}

// Documents that wait together are executed together, each in its own order; a document whose effects cannot be
// executed keeps them and does not hold up the others.
func TestDocumentsAreExecutedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	seen, largest := map[string][]string{}, 0
	first := make(chan struct{})
	handle := func(kind string) func(context.Context, []store.Effect) error {
		return func(_ context.Context, effects []store.Effect) error {
			<-first // All documents are written before the first one is worked on.
			mu.Lock()
			defer mu.Unlock()
			largest = max(largest, len(effects))
			for _, e := range effects {
				if string(e.Body) == "spoiled" {
					return errors.New("not this one")
				}
			}
			for _, e := range effects {
				seen[string(e.Body)] = append(seen[string(e.Body)], kind)
			}
			return nil
		}
	}
	relay := w.relayOf(handlers{"a": handle("a"), "b": handle("b")}, "a", "b")
	const documents = 40
	ids := make([]uuid.UUID, documents)
	for i := range documents {
		ids[i] = uuid.New()
		body := ids[i].String()
		if i == 7 {
			body = "spoiled"
		}
		require.NoError(t, w.flows.Insert(t.Context(), w.ws, &orchv1.Flow{Id: ids[i].String(), Name: ids[i].String()}, w.effect("a", body), w.effect("b", body)))
	}
	running(t, relay)
	close(first)
	for i, id := range ids {
		if i == 7 {
			continue
		}
		require.Eventually(t, func() bool {
			pending, err := w.store.Pending(t.Context(), query.Flow, store.DocumentKey{Workspace: w.ws, ID: id})
			return err == nil && len(pending) == 0
		}, 10*time.Second, time.Millisecond)
	}
	pending, err := w.store.Pending(t.Context(), query.Flow, store.DocumentKey{Workspace: w.ws, ID: ids[7]})
	require.NoError(t, err)
	require.Len(t, pending, 2)
	mu.Lock()
	defer mu.Unlock()
	for i, id := range ids {
		if i == 7 {
			require.Empty(t, seen[id.String()])
			continue
		}
		require.Subset(t, []string{"a", "b"}, seen[id.String()])
		require.Equal(t, "a", seen[id.String()][0])
		require.Equal(t, "b", seen[id.String()][len(seen[id.String()])-1])
	}
	require.Greater(t, largest, 1)
}

// A failed effect comes before later effects, although that is handed on in memory.
func TestWhatFailedIsNotOvertaken(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &recorder{done: make(chan struct{}, 10), fails: 1}
	relay := w.relay(r)
	running(t, relay)
	flows, key := store.NewCollection(w.flows.Store(), query.Flow, &orchv1.Flow{}, store.VersionCache), uuid.New()
	require.NoError(t, flows.Insert(t.Context(), w.ws, &orchv1.Flow{Id: key.String(), Name: "etl"}, w.effect("test", "0")))
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.fails == 0
	}, 10*time.Second, time.Millisecond)
	for _, body := range []string{"1", "2"} {
		_, err := flows.Mutate(t.Context(), w.ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
			return &store.Change[*orchv1.Flow]{Message: proto.Clone(current).(*orchv1.Flow), Effects: []store.Effect{w.effect("test", body)}}, nil
		})
		require.NoError(t, err)
	}
	// The second may have come while the failure was noted; then all of them wait for the sweeper.
	_, err := relay.Sweep(t.Context(), -time.Second)
	require.NoError(t, err)
	wait(t, r, 3)
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(t, []string{"0", "1", "2"}, r.seen[:3])
}

// Of two processes each executes what it caused, and reads what it does not know of.
func TestEffectsOfAnotherProcessAreRead(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &recorder{done: make(chan struct{}, 10)}
	theirs, relay := w.flows, w.relay(r)
	ours, key := store.NewCollection(w.flows.Store(), query.Flow, &orchv1.Flow{}, store.VersionCache), uuid.New()
	require.NoError(t, ours.Insert(t.Context(), w.ws, &orchv1.Flow{Id: key.String(), Name: "etl"}))
	change := func(c *store.Collection[*orchv1.Flow], body string) {
		_, err := c.Mutate(t.Context(), w.ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
			return &store.Change[*orchv1.Flow]{Message: proto.Clone(current).(*orchv1.Flow), Effects: []store.Effect{w.effect("test", body)}}, nil
		})
		require.NoError(t, err)
	}
	change(theirs, "theirs") // Its store has no relay.
	running(t, relay)
	change(ours, "ours")
	wait(t, r, 2)
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(t, []string{"theirs", "ours"}, r.seen)
}

// An effect that a worker holds in memory is not executed again after Flush executed it and the one behind it: a limit that
// a deployment had changed and then removed came back that way.
func TestFlushedEffectsAreNotExecutedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	entered, proceed := make(chan struct{}, 8), make(chan struct{})
	var mu sync.Mutex
	var seen []string
	relay := w.relayOf(handlers{"test": func(_ context.Context, effects []store.Effect) error {
		for _, e := range effects {
			if string(e.Body) == "slow" {
				entered <- struct{}{}
				<-proceed
				continue
			}
			mu.Lock()
			seen = append(seen, string(e.Body))
			mu.Unlock()
		}
		return nil
	}})
	flows, key := store.NewCollection(w.flows.Store(), query.Flow, &orchv1.Flow{}, store.VersionCache), uuid.New()
	// Two documents of one batch: the worker has the second one's effect in memory while it executes the first, or the other
	// way round; then the flush waits for nothing.
	blocker := uuid.New()
	require.NoError(t, flows.Insert(t.Context(), w.ws, &orchv1.Flow{Id: blocker.String(), Name: "slow"}, w.effect("test", "slow")))
	require.NoError(t, flows.Insert(t.Context(), w.ws, &orchv1.Flow{Id: key.String(), Name: "etl"}, w.effect("test", "set")))
	running(t, relay)
	<-entered
	_, err := flows.Mutate(t.Context(), w.ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
		return &store.Change[*orchv1.Flow]{Message: proto.Clone(current).(*orchv1.Flow), Effects: []store.Effect{w.effect("test", "unset")}}, nil
	})
	require.NoError(t, err)
	require.NoError(t, relay.Flush(t.Context(), query.Flow, w.ws, key))
	close(proceed)
	require.NoError(t, relay.Settle(t.Context(), query.Flow, key))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"set", "unset"}, seen)
}

// TestLargeOutboxesAreExecutedInParts sweeps more than one read of outboxes may hold. Each effect is executed once, with its body.
func TestLargeOutboxesAreExecutedInParts(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), &recorder{done: make(chan struct{}, 100)}
	var want []string
	for i := range 6 {
		body := string(rune('a'+i)) + strings.Repeat("x", 3_000_000)
		want = append(want, body)
		require.NoError(t, w.flows.Insert(t.Context(), w.ws, &orchv1.Flow{Id: uuid.NewString(), Name: string(rune('a' + i))}, w.effect("test", body)))
	}
	relay := w.relayOf(handlers{"test": r.handle}, "test")
	running(t, relay)
	_, err := relay.Sweep(t.Context(), -time.Second)
	require.NoError(t, err)
	wait(t, r, len(want))
	r.mu.Lock()
	defer r.mu.Unlock()
	require.ElementsMatch(t, want, r.seen)
}
