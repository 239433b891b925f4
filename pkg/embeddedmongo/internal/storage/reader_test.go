package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// A commit whose command does not get to Wait is released: it syncs what it has applied, and later reads wait for nothing.
func TestCommitsAreReleased(t *testing.T) {
	t.Parallel()
	e, err := Open("data", Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	c, err := e.Collection("d", "runs")
	require.NoError(t, err)
	for id, many := range []bool{false, true} {
		w := e.Begin(true, many)
		require.NoError(t, c.Insert(w, encoded(t, bson.D{{Key: "_id", Value: id}})))
		require.EqualValues(t, 1, e.journaled.Load())
		w.Release()
		require.Zero(t, e.journaled.Load())
		require.Zero(t, e.inflight.Load())
		w.Release()
	}
}
