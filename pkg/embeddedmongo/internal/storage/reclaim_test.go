package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// tables is the size of all tables in bytes.
func tables(e *Engine) (total uint64) {
	for _, level := range e.db.Metrics().Levels {
		total += uint64(level.TablesSize)
	}
	return total
}

// churned is a collection of which all documents but some were deleted. It returns the ids of those.
func churned(t *testing.T, e *Engine, documents, remaining int) (c *Collection, ids [][]byte) {
	t.Helper()
	c = collection(t, e)
	pad := make([]byte, 512)
	random := rand.New(rand.NewPCG(1, 2))
	var docs []value.Doc
	for i := range documents {
		for j := range pad {
			pad[j] = byte(random.Uint32()) // It does not compress.
		}
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
	return c, ids[:remaining]
}

// Compactions return the space of deleted documents, and the others stay.
func TestSpaceIsReturned(t *testing.T) {
	t.Parallel()
	for name, reclaim := range map[string]func(e *Engine) error{
		"compaction": func(e *Engine) error { return errors.Join(e.db.Flush(), e.Compact(t.Context())) },
		"reclaiming": func(e *Engine) error { _, err := e.Reclaim(t.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, closing := opened(t, vfs.NewMem())
			defer closing()
			c, left := churned(t, e, 8000, 100)
			require.NoError(t, reclaim(e))
			for _, id := range left {
				d, err := c.Get(id)
				require.NoError(t, err)
				require.NotNil(t, d)
			}
			require.Less(t, tables(e), uint64(2*len(left)*512))
		})
	}
}

// A store without much garbage is not rewritten.
func TestReclaimingLeavesLiveDataAlone(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	churned(t, e, 4000, 3900)
	compacted, err := e.Reclaim(t.Context())
	require.NoError(t, err)
	require.Zero(t, compacted)
}

// A table without statistics may hold garbage that is not counted yet.
func TestStatisticsOfAllTables(t *testing.T) {
	t.Parallel()
	var read, unread pebble.SSTableInfo
	read.TableStats.NumEntries = 1
	require.True(t, haveStatistics(make([][]pebble.SSTableInfo, 7)))
	require.True(t, haveStatistics([][]pebble.SSTableInfo{{read}, {}, {read, read}}))
	require.False(t, haveStatistics([][]pebble.SSTableInfo{{read}, {}, {read, unread}}))
}

// Slices cover all keys once, and each table of an upper level counts once.
func TestSlices(t *testing.T) {
	t.Parallel()
	table := func(from, to string, size, garbage uint64) (one pebble.SSTableInfo) {
		one.Smallest.UserKey, one.Largest.UserKey, one.Size = []byte(from), []byte(to), size
		one.TableStats.PointDeletionsBytesEstimate = garbage
		return one
	}
	all := slicesOf([][]pebble.SSTableInfo{
		{table("a", "z", 90, 60)},
		{table("p", "q", 10, 5), table("x", "y", 10, 0)},
		{table("b", "c", 100, 0), table("d", "k", 100, 0), table("o", "t", 100, 7)},
	}, 200)
	require.Len(t, all, 2)
	require.Equal(t, []byte{0}, all[0].start)
	require.Equal(t, all[0].end, all[1].start)
	require.Equal(t, "o", string(all[1].start))
	require.Equal(t, uint64(200), all[0].bottom)
	require.Equal(t, uint64(100), all[1].bottom)
	require.InDelta(t, 200+60, all[0].size, 2)
	require.InDelta(t, 40, all[0].garbage, 2)
	require.InDelta(t, 100+30+10+10, all[1].size, 2)
	require.InDelta(t, 7+20+5, all[1].garbage, 2)

	require.Len(t, slicesOf(make([][]pebble.SSTableInfo, 7), 1), 1, "an empty store")
}

// Space is reclaimed once after many deletions: when they have paused, or are a tenth of the documents.
func TestSpaceIsReclaimedAfterDeletions(t *testing.T) {
	t.Parallel()
	var d deletions
	for _, step := range []struct {
		deleted, live int64
		due           bool
	}{
		{0, 0, false},
		{reclaimAfter - 1, 100 * reclaimAfter, false}, // Not paused.
		{0, 100 * reclaimAfter, false},                // Too few.
		{reclaimAfter, 100 * reclaimAfter, false},     // Not paused.
		{1, 100 * reclaimAfter, true},
		{0, 100 * reclaimAfter, false}, // Reclaimed before.
		{reclaimAfter, 100 * reclaimAfter, false},
		{0, 100 * reclaimAfter, true},
		{9 * reclaimAfter, 100 * reclaimAfter, false},
		{reclaimAfter, 100 * reclaimAfter, true}, // A tenth.
	} {
		t.Run(fmt.Sprint(step.deleted), func(t *testing.T) {
			d.total.Add(step.deleted)
			require.Equal(t, step.due, d.due(step.live), "%+v", step)
		})
	}
}

// Changed index entries are deletions and additions. Their flushes do not rewrite the lowest level.
func TestChangesDoNotRewriteTheStore(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	const documents = 3000
	c, ids := churned(t, e, documents, documents)
	for _, field := range []string{"a", "b", "c"} {
		_, err := c.CreateIndex(t.Context(), specification(t, field), noTurns)
		require.NoError(t, err)
	}
	for round := range 5 {
		w := e.Begin(true, true)
		for i, id := range ids {
			require.NoError(t, c.Modify(w, id, func(old value.Doc) (value.Doc, Action, error) {
				n := i * 7919 % documents * (round + 1)
				fresh := bson.D{{Key: "_id", Value: bson.RawValue{Type: bson.TypeBinary, Value: old.Get("_id").B}}}
				fresh = append(fresh, bson.E{Key: "pad", Value: bson.RawValue{Type: bson.TypeBinary, Value: old.Get("pad").B}})
				return encoded(t, append(fresh, bson.E{Key: "a", Value: n}, bson.E{Key: "b", Value: -n}, bson.E{Key: "c", Value: n / 2})), Replace, nil
			}))
		}
		require.NoError(t, w.Wait())
		require.NoError(t, e.db.Flush())
		_, err := e.statistics(t.Context())
		require.NoError(t, err)
	}
	compactions := e.db.Metrics().Compact
	require.Zero(t, compactions.TombstoneDensityCount)
	require.Zero(t, compactions.NumInProgress)
}
