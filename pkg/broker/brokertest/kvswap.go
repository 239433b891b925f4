package brokertest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// swap: no change is lost between writers that race, also when the key was removed before.
func swap(t *testing.T, b Broker) {
	const writers, each = 4, 5 // Few enough that nobody loses more often than Swap tries.
	kv, err := connect(t, b).KeyValue(t.Context(), "counters", broker.KVConfig{})
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), "n", []byte("99"))
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), "n"))

	increment := func(current []byte) ([]byte, error) {
		n := 0
		if current != nil {
			var err error
			if n, err = strconv.Atoi(string(current)); err != nil {
				return nil, err
			}
		}
		return strconv.AppendInt(nil, int64(n)+1, 10), nil
	}
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if err := kv.Swap(context.Background(), "n", increment); err != nil {
					t.Errorf("swapping: %v", err)
				}
			}
		})
	}
	wg.Wait()
	value, err := kv.Get(t.Context(), "n")
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(writers*each), string(value))

	refused := errors.New("refused")
	require.ErrorIs(t, kv.Swap(t.Context(), "n", func([]byte) ([]byte, error) { return nil, refused }), refused)
	require.NoError(t, kv.Swap(t.Context(), "n", func([]byte) ([]byte, error) { return nil, nil }))
	after, err := kv.Get(t.Context(), "n")
	require.NoError(t, err)
	require.Equal(t, value, after)
}
