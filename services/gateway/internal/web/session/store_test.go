package session_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	store := session.NewStore(session.Options{Clock: now})
	open := func() string {
		token, err := store.Open(t.Context(), session.Session{Digest: "digest"})
		require.NoError(t, err)
		return token
	}
	found := func(token string) bool {
		_, ok := store.Find(t.Context(), token)
		return ok
	}
	idle, busy := open(), open()
	require.True(t, found(idle) && found(busy))
	require.False(t, found("") || found(idle[1:]) || found(idle[1:]+"x"))
	for range 11 {
		now.Advance(time.Hour)
		require.True(t, found(busy))
	}
	require.False(t, found(idle), "two hours without a request")
	now.Advance(time.Hour)
	require.False(t, found(busy), "twelve hours after sign-in")

	ended := open()
	last, ok := store.Find(t.Context(), ended)
	require.True(t, ok)
	require.NotEqual(t, ended, last.ID, "the id does not grant access")
	require.NoError(t, store.Close(t.Context(), last.ID))
	require.False(t, found(ended))
}

// bucketOf is a bucket in memory that two stores share. Its watches deliver nothing by themselves.
type bucketOf struct {
	mu     sync.Mutex
	values map[string][]byte
	// swapped is called before a swap decides.
	swapped func()
}

func (b *bucketOf) Swap(_ context.Context, key string, decide func([]byte) ([]byte, error)) error {
	if b.swapped != nil {
		b.swapped()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	next, err := decide(b.values[key])
	if err == nil && next != nil {
		b.values[key] = next
	}
	return err
}

func (b *bucketOf) Get(_ context.Context, key string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if value, ok := b.values[key]; ok {
		return value, nil
	}
	return nil, broker.ErrNotFound
}

func (b *bucketOf) Delete(_ context.Context, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.values, key)
	return nil
}

func (*bucketOf) CompactDeleted(context.Context, time.Duration) error { return nil }

func (*bucketOf) Watch(ctx context.Context, _ func(broker.Change)) error {
	<-ctx.Done()
	return nil
}

// TestUseDoesNotReopenAClosedSession signs out on one replica while the other stores a use of the session.
func TestUseDoesNotReopenAClosedSession(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	shared := &bucketOf{values: map[string][]byte{}}
	one := session.NewStore(session.Options{Clock: now, Bucket: shared})
	other := session.NewStore(session.Options{Clock: now, Bucket: shared})
	token, err := one.Open(t.Context(), session.Session{Digest: "digest"})
	require.NoError(t, err)
	found, ok := other.Find(t.Context(), token)
	require.True(t, ok)
	now.Advance(10 * time.Minute)
	shared.swapped = func() { require.NoError(t, other.Close(t.Context(), found.ID)) }
	_, ok = one.Find(t.Context(), token)
	require.False(t, ok, "the session ended before its use was stored")
	require.Empty(t, shared.values)
	_, ok = one.Find(t.Context(), token)
	require.False(t, ok)
}
