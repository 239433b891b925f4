package brokertest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// journal: entries come in order, again after a failure, also over a restart; the oldest make room.
func journal(t *testing.T, b Broker) {
	c := connect(t, b)
	j, err := c.Journal(t.Context(), "notes", broker.JournalConfig{MaxBytes: 1 << 20})
	require.NoError(t, err)
	for _, entry := range []string{"1", "2"} {
		require.NoError(t, j.Append(t.Context(), []byte(entry)))
	}
	b.Stop(t)
	require.ErrorIs(t, j.Append(t.Context(), []byte("lost")), broker.ErrUnavailable)
	b.Start(t)
	require.Eventually(t, func() bool { return j.Append(t.Context(), []byte("3")) == nil }, waitTimeout, 10*time.Millisecond)

	var failed atomic.Bool
	came := make(chan string)
	background(t, func(ctx context.Context) error {
		return j.Consume(ctx, func(ctx context.Context, entries [][]byte) error {
			if failed.CompareAndSwap(false, true) {
				return errors.New("the store is away")
			}
			for _, entry := range entries {
				send(ctx, came, string(entry))
			}
			return nil
		})
	})
	got := map[string]bool{}
	for !got["1"] || !got["2"] || !got["3"] {
		got[receive(t, came)] = true
	}
	require.NotContains(t, got, "lost")

	// Nobody waits for a consumer.
	full, err := c.Journal(t.Context(), "full", broker.JournalConfig{MaxBytes: 1 << 20})
	require.NoError(t, err)
	large := []byte(strings.Repeat("x", 200<<10))
	for range 20 {
		require.NoError(t, full.Append(t.Context(), large))
	}
	again, err := c.Journal(t.Context(), "full", broker.JournalConfig{})
	require.NoError(t, err)
	require.NoError(t, again.Append(t.Context(), large))
}
