package storage

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// A compaction returns the space of deleted documents, and the others stay.
func TestCompactReturnsSpace(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	pad := strings.Repeat("x", 1<<10)
	const documents, remaining = 4000, 100
	var ids [][]byte
	var docs []value.Doc
	for i := range documents {
		d := encoded(t, bson.D{{Key: "_id", Value: binary.BigEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15)}, {Key: "pad", Value: pad}})
		ids, docs = append(ids, value.AppendKey(nil, d.Get("_id"), false)), append(docs, d)
	}
	_, _, err := insertAll(c, docs, false)
	require.NoError(t, err)
	require.NoError(t, e.Compact(t.Context()))
	w := e.Begin(true, true)
	for _, id := range ids[remaining:] {
		require.NoError(t, c.Modify(w, id, func(value.Doc) (value.Doc, Action, error) { return nil, Delete, nil }))
	}
	require.NoError(t, w.Wait())
	require.Equal(t, int64(documents-remaining), e.deleted.total.Load())
	require.False(t, e.ReclaimDue(), "too few")

	size := func() uint64 {
		var total uint64
		for _, level := range e.db.Metrics().Levels {
			total += uint64(level.TablesSize)
		}
		return total
	}
	require.NoError(t, e.db.Flush())
	require.NoError(t, e.Compact(t.Context()))
	for _, id := range ids[:remaining] {
		d, err := c.Get(id)
		require.NoError(t, err)
		require.NotNil(t, d)
	}
	require.Less(t, size(), uint64(2*remaining*len(pad)))
}

// Space is reclaimed once after many deletions, when they have paused.
func TestSpaceIsReclaimedWhenDeletionsPause(t *testing.T) {
	t.Parallel()
	var d deletions
	for _, step := range []struct {
		deleted int64
		due     bool
	}{
		{0, false},
		{reclaimAfter - 1, false}, // Not paused.
		{0, false},                // Too few.
		{reclaimAfter, false},     // Not paused.
		{1, true},
		{0, false}, // Reclaimed before.
		{reclaimAfter, false},
		{0, true},
	} {
		d.total.Add(step.deleted)
		require.Equal(t, step.due, d.due(), "%+v", step)
	}
}
