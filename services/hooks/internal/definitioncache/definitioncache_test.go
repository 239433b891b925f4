package definitioncache_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks/internal/definitioncache"
)

// bucket is a bucket whose watch delivers only what the test sends.
type bucket struct {
	changes chan broker.Change
	handled chan struct{}

	mu      sync.Mutex
	entries map[string][]byte
	err     error
	contact time.Time
	looks   atomic.Int64
	hold    chan struct{} // Looks wait for it when it is set.
}

func (b *bucket) Watch(ctx context.Context, handle func(broker.Change)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-b.changes:
			handle(c)
			b.handled <- struct{}{}
		}
	}
}

func (b *bucket) Get(_ context.Context, key string) ([]byte, error) {
	b.looks.Add(1)
	if b.hold != nil {
		<-b.hold
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	if entry, ok := b.entries[key]; ok {
		return entry, nil
	}
	return nil, broker.ErrNotFound
}

func (b *bucket) LastContact() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.contact
}

// tell gives a change to the watch.
func (b *bucket) tell(c broker.Change) {
	b.changes <- c
	<-b.handled
}

func (b *bucket) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func start(t *testing.T, o definitioncache.Options) (*definitioncache.Cache, *bucket, *clock.Manual) {
	t.Helper()
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b := &bucket{changes: make(chan broker.Change), handled: make(chan struct{}), entries: map[string][]byte{}, contact: now.Now()}
	o.Bucket, o.Clock, o.Log = b, now, slog.New(slog.DiscardHandler)
	c := definitioncache.New(o)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Run(ctx) }) // It ends with the test.
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return c, b, now
}

func entry(t *testing.T, revision int64, enabled bool) []byte {
	t.Helper()
	e, err := webhookdef.Encode(&orchv1.WebhookDefinition{
		Id: "01890000-0000-7000-8000-000000000001", Account: "01890000-0000-7000-8000-000000000002",
		Workspace: "01890000-0000-7000-8000-000000000003", Revision: revision, Enabled: enabled,
	})
	require.NoError(t, err)
	return e
}

func TestNothingIsSaidBeforeAllIsKnown(t *testing.T) {
	t.Parallel()
	c, b, _ := start(t, definitioncache.Options{})
	_, err := c.Find(t.Context(), "a")
	require.ErrorIs(t, err, definitioncache.ErrUnavailable)
	require.ErrorIs(t, c.Loaded(), definitioncache.ErrLoading)
	b.tell(broker.Change{Key: webhookdef.Key("a"), Value: entry(t, 1, true)})
	_, err = c.Find(t.Context(), "a")
	require.ErrorIs(t, err, definitioncache.ErrUnavailable)
	b.tell(broker.Change{InitialDone: true})
	<-c.Ready()
	require.NoError(t, c.Loaded())
	hook, err := c.Find(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 1, hook.GetRevision())
	b.tell(broker.Change{InitialDone: true}) // After an interruption it comes again.
	require.Zero(t, b.looks.Load(), "what is known is not asked for")
}

func TestWhatIsNotKnownIsAskedForOnce(t *testing.T) {
	t.Parallel()
	c, b, now := start(t, definitioncache.Options{})
	b.tell(broker.Change{InitialDone: true})
	for range 3 {
		_, err := c.Find(t.Context(), "new")
		require.ErrorIs(t, err, definitioncache.ErrNotFound)
	}
	require.EqualValues(t, 1, b.looks.Load())

	b.mu.Lock()
	b.entries[webhookdef.Key("new")] = entry(t, 1, true)
	b.mu.Unlock()
	now.Advance(time.Second)
	_, err := c.Find(t.Context(), "new")
	require.NoError(t, err, "the broker knows it before the watch delivers it")
	require.EqualValues(t, 2, b.looks.Load())

	b.tell(broker.Change{Key: webhookdef.Key("new"), Value: entry(t, 2, false)})
	_, err = c.Find(t.Context(), "new")
	require.ErrorIs(t, err, definitioncache.ErrNotFound, "an answer that is older than the last delivery of the watch does not count")

	_, err = c.Find(t.Context(), "not a slug!")
	require.ErrorIs(t, err, definitioncache.ErrNotFound)
	require.EqualValues(t, 3, b.looks.Load())
}

func TestManyWaitForOneLook(t *testing.T) {
	t.Parallel()
	c, b, _ := start(t, definitioncache.Options{})
	b.hold = make(chan struct{})
	b.tell(broker.Change{InitialDone: true})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := c.Find(t.Context(), "new")
			if !errors.Is(err, definitioncache.ErrNotFound) {
				t.Errorf("got %v", err)
			}
		})
	}
	for b.looks.Load() == 0 {
		runtime.Gosched()
	}
	close(b.hold)
	wg.Wait()
	require.EqualValues(t, 1, b.looks.Load())
}

// A look-up beyond the limit was not made, so nothing is known: the webhook may exist.
func TestLookUpsAreLimited(t *testing.T) {
	t.Parallel()
	c, b, _ := start(t, definitioncache.Options{LooksPerSecond: 10})
	b.tell(broker.Change{InitialDone: true})
	for i := range 100 {
		_, err := c.Find(t.Context(), "random-"+string(rune('A'+i%26))+string(rune('a'+i/26)))
		if i < 10 {
			require.ErrorIs(t, err, definitioncache.ErrNotFound)
		} else {
			require.ErrorIs(t, err, definitioncache.ErrUnavailable)
		}
	}
	require.EqualValues(t, 10, b.looks.Load())
}

func TestTheBrokerAway(t *testing.T) {
	t.Parallel()
	c, b, now := start(t, definitioncache.Options{})
	b.tell(broker.Change{Key: webhookdef.Key("a"), Value: entry(t, 1, true)})
	b.tell(broker.Change{InitialDone: true})
	b.fail(broker.ErrUnavailable)
	_, err := c.Find(t.Context(), "new")
	require.ErrorIs(t, err, definitioncache.ErrUnavailable)
	_, err = c.Find(t.Context(), "a")
	require.NoError(t, err, "what is known stays")

	require.NoError(t, c.Current())
	now.Advance(5 * time.Second)
	require.NoError(t, c.Current())
	now.Advance(time.Second)
	require.ErrorIs(t, c.Current(), definitioncache.ErrUnavailable, "a credential may have been revoked since")
	now.Advance(-12 * time.Second)
	require.ErrorIs(t, c.Current(), definitioncache.ErrUnavailable, "the clock stepped back: the age is unknown")
}

func TestChanges(t *testing.T) {
	t.Parallel()
	c, b, now := start(t, definitioncache.Options{})
	key := webhookdef.Key("a")
	b.tell(broker.Change{Key: key, Value: entry(t, 5, true)})
	b.tell(broker.Change{InitialDone: true})
	b.tell(broker.Change{Key: key, Value: entry(t, 4, true)})
	hook, err := c.Find(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 4, hook.GetRevision(), "a restored store has lower revisions")
	require.False(t, c.Disabled("a"))
	b.tell(broker.Change{Key: key, Value: entry(t, 6, false)})
	_, err = c.Find(t.Context(), "a")
	require.ErrorIs(t, err, definitioncache.ErrNotFound)
	require.True(t, c.Disabled("a"))
	b.tell(broker.Change{Key: key, Value: entry(t, 7, true)})
	_, err = c.Find(t.Context(), "a")
	require.NoError(t, err, "at once, although it was just remembered that there is none")

	for _, gone := range []broker.Change{{Key: key, Deleted: true}, {Key: key, Value: []byte("no definition")}} {
		b.tell(broker.Change{Key: key, Value: entry(t, 7, true)})
		b.tell(gone)
		_, err = c.Find(t.Context(), "a")
		require.ErrorIs(t, err, definitioncache.ErrNotFound)
		now.Advance(time.Minute)
	}
}
