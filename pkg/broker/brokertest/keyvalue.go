package brokertest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// watching runs a watch and gives its changes.
func watching(t *testing.T, kv *broker.KV) <-chan broker.Change {
	t.Helper()
	changes := make(chan broker.Change)
	background(t, func(ctx context.Context) error {
		return kv.Watch(ctx, func(c broker.Change) { send(ctx, changes, c) })
	})
	return changes
}

// watch: first the values that are there, then the mark, then changes as they happen, also over a restart.
func watch(t *testing.T, b Broker) {
	c := connect(t, b)
	kv, err := c.KeyValue(t.Context(), "catalog", broker.KVConfig{})
	require.NoError(t, err)
	expect := func(changes <-chan broker.Change, want broker.Change) {
		t.Helper()
		got := receive(t, changes)
		require.Empty(t, cmp.Diff(want, got, cmpopts.IgnoreFields(broker.Change{}, "Revision"), cmpopts.EquateEmpty()))
		require.Equal(t, got.InitialDone, got.Revision == 0)
	}

	empty := watching(t, kv)
	expect(empty, broker.Change{InitialDone: true})

	first, err := kv.Put(t.Context(), "ws.a", []byte("1"))
	require.NoError(t, err)
	expect(empty, broker.Change{Key: "ws.a", Value: []byte("1")})
	second, err := kv.Put(t.Context(), "ws.a", []byte("2"))
	require.NoError(t, err)
	require.Greater(t, second, first)
	_, err = kv.Put(t.Context(), "ws.b", nil)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), "ws.absent"))
	expect(empty, broker.Change{Key: "ws.a", Value: []byte("2")})
	expect(empty, broker.Change{Key: "ws.b"})
	expect(empty, broker.Change{Key: "ws.absent", Deleted: true})

	other, err := connect(t, b).KeyValue(t.Context(), "catalog", broker.KVConfig{})
	require.NoError(t, err)
	changes := watching(t, other)
	expect(changes, broker.Change{Key: "ws.a", Value: []byte("2")})
	expect(changes, broker.Change{Key: "ws.b"})
	expect(changes, broker.Change{Key: "ws.absent", Deleted: true})
	expect(changes, broker.Change{InitialDone: true})
	require.NoError(t, kv.Delete(t.Context(), "ws.a"))
	expect(changes, broker.Change{Key: "ws.a", Deleted: true})

	value, err := kv.Get(t.Context(), "ws.b")
	require.NoError(t, err)
	require.Empty(t, value)
	_, err = kv.Get(t.Context(), "ws.a")
	require.ErrorIs(t, err, broker.ErrNotFound)
	keys, err := kv.Keys(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"ws.b"}, keys)
	_, err = kv.Put(t.Context(), "not a key", nil)
	require.Error(t, err)
	require.NotErrorIs(t, err, broker.ErrUnavailable)
}

// lastContact: the time moves on while the view is current, stands still while the broker is away, and moves on after.
func lastContact(t *testing.T, b Broker) {
	c := connect(t, b)
	kv, err := c.KeyValue(t.Context(), "catalog", broker.KVConfig{})
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), "a", []byte("1"))
	require.NoError(t, err)
	before := time.Now()
	changes := watching(t, kv)
	receive(t, changes)
	require.True(t, receive(t, changes).InitialDone)
	require.False(t, kv.LastContact().Before(before), "current when the initial values are complete")

	b.Stop(t)
	stopped := time.Now()
	_, err = kv.Put(t.Context(), "a", []byte("2"))
	require.ErrorIs(t, err, broker.ErrUnavailable)
	quiet(t, changes)
	require.True(t, kv.LastContact().Before(stopped), "no contact while the broker is away")

	b.Start(t)
	drain := background(t, func(ctx context.Context) error {
		for {
			select {
			case <-changes:
			case <-ctx.Done():
				return nil
			}
		}
	})
	defer drain()
	for deadline := time.Now().Add(waitTimeout); !kv.LastContact().After(stopped); <-time.After(50 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "no contact after the broker came back")
	}
}
