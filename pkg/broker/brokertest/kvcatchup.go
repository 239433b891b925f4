package brokertest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// catchUp: when it returns, the watch has handled all that was written before, by whomever.
func catchUp(t *testing.T, b Broker) {
	writer, err := connect(t, b).KeyValue(t.Context(), "current", broker.KVConfig{})
	require.NoError(t, err)
	kv, err := connect(t, b).KeyValue(t.Context(), "current", broker.KVConfig{})
	require.NoError(t, err)
	var handled atomic.Uint64
	background(t, func(ctx context.Context) error {
		return kv.Watch(ctx, func(c broker.Change) { handled.Store(max(handled.Load(), c.Revision)) })
	})
	for i := range 200 {
		revision, err := writer.Put(t.Context(), fmt.Sprint("key", i%7), []byte{byte(i)})
		require.NoError(t, err)
		require.NoError(t, kv.CatchUp(t.Context()))
		require.GreaterOrEqual(t, handled.Load(), revision)
	}
	// Without a watch there is nothing that could catch up.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, writer.CatchUp(ctx), broker.ErrUnavailable)
}
