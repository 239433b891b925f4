package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// A reader does not wait for a write that stalls, nor for background work that waits for the write.
func TestReadersDoNotWaitForWriters(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c, ix := tenancy(t, e)
	addRuns(t, c, 0, 100)
	require.NoError(t, c.countPrefixes(ix, 1, noTurns))
	stalled, goOn, written := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		written <- c.Modify(e.Begin(false, false), value.AppendKey(nil, value.OfInt(1), false), func(value.Doc) (value.Doc, Action, error) {
			close(stalled)
			<-goOn
			return nil, Keep, nil
		})
	}()
	<-stalled
	c.KeepPrefixCounts(ix, 2)
	for c.mu.TryRLock() { // Until the counting waits for the write, and later writes for the counting.
		c.mu.RUnlock()
	}
	n, ok := workspaceCount(t, c, ix, 0)
	require.True(t, ok)
	require.EqualValues(t, 20, n)
	close(goOn)
	require.NoError(t, <-written)
}

// A commit whose command does not get to Wait is released: it syncs what it has applied, and later reads wait for nothing.
func TestCommitsAreReleased(t *testing.T) {
	t.Parallel()
	e, err := Open("data", Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	c, _ := tenancy(t, e)
	for id, many := range []bool{false, true} {
		w := e.Begin(true, many)
		require.NoError(t, c.Insert(w, workspaceRun(t, id, 1, "A")))
		require.EqualValues(t, 1, e.journaled.Load())
		w.Release()
		require.Zero(t, e.journaled.Load())
		require.Zero(t, e.inflight.Load())
		w.Release()
	}
}
