package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// A directory with indexes of trigrams and counters of prefixes, which earlier versions wrote, opens without them. A reader leaves them.
func TestRetiredIndexesGo(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	e, err := Open("data", Options{FS: fs})
	require.NoError(t, err)
	c, err := e.Collection("d", "runs")
	require.NoError(t, err)
	_, err = c.CreateIndex(t.Context(), specification(t, "name"), noTurns)
	require.NoError(t, err)
	require.NoError(t, c.Insert(e.Begin(true, false), encoded(t, bson.D{{Key: "_id", Value: 1}, {Key: "name", Value: "amber"}})))
	specs := []IndexSpec{
		c.Indexes()[1].Spec,
		{ID: 7, Name: "grams", Key: bson.Raw(encoded(t, bson.D{{Key: "ws", Value: 1}, {Key: "name", Value: "grams"}}))},
	}
	record, err := bson.Marshal(record{ID: c.ID, NextIx: 8, Indexes: specs})
	require.NoError(t, err)
	posting, counter := append(taggedIndex(tagIndex, c.ID, 7), "amb"...), append(taggedIndex(tagRetired, c.ID, 1), 1)
	for key, v := range map[string][]byte{string(catalogKey("d", "runs")): record, string(posting): nil, string(counter): {2}} {
		require.NoError(t, e.db.Set([]byte(key), v, pebble.Sync))
	}
	require.NoError(t, e.Close())
	for _, readOnly := range []bool{true, false, false} {
		e, err := Open("data", Options{FS: fs, ReadOnly: readOnly})
		require.NoError(t, err)
		require.Len(t, e.Lookup("d", "runs").Indexes(), 2)
		for _, key := range [][]byte{posting, counter} {
			it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: key, UpperBound: append(key, 0)})
			require.NoError(t, err)
			require.Equal(t, readOnly, it.First())
			require.NoError(t, it.Close())
		}
		reports, err := e.Check(t.Context())
		require.NoError(t, err)
		require.Len(t, reports, 1)
		require.Empty(t, reports[0].Problems)
		require.NoError(t, e.Close())
	}
}
