package storage

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// compressions are the names of the algorithms of all tables, from their properties: the metrics count a table only after a background
// task of Pebble has read it.
func compressions(t *testing.T, db *pebble.DB) (names []string) {
	t.Helper()
	levels, err := db.SSTables(pebble.WithProperties())
	require.NoError(t, err)
	for _, tables := range levels {
		for _, table := range tables {
			names = append(names, table.Properties.CompressionName)
		}
	}
	return names
}

// A directory whose lowest tables an earlier version compressed in another way is read, and compactions rewrite its tables.
func TestTablesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var docs []value.Doc
	insert := func(e *Engine, from float64) {
		t.Helper()
		var some []value.Doc
		for i := range 5000 {
			text := strings.Repeat(fmt.Sprint("event ", i%17, " of run ", i), 6)
			some = append(some, encoded(t, bson.D{{Key: "_id", Value: from + float64(i)}, {Key: "text", Value: text}}))
		}
		_, _, err := insertAll(collection(t, e), some, false)
		require.NoError(t, err)
		docs = append(docs, some...)
	}
	e, err := Open(dir, Options{NoSync: true})
	require.NoError(t, err)
	insert(e, 0)
	require.NoError(t, e.Close())

	earlier, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: formatVersion, Merger: counterMerger, Logger: pebbleLogger{slog.New(slog.DiscardHandler), nil}})
	require.NoError(t, err)
	require.NoError(t, earlier.Flush())
	require.NoError(t, earlier.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
	require.Contains(t, compressions(t, earlier), "Snappy")
	require.NotContains(t, compressions(t, earlier), "ZSTD")
	require.NoError(t, earlier.Close())

	e, err = Open(dir, Options{NoSync: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	requireAll := func() {
		t.Helper()
		c := collection(t, e)
		for _, want := range docs {
			have, err := c.Get(value.AppendKey(nil, want.Get("_id"), false))
			require.NoError(t, err)
			require.Equal(t, want, have)
		}
	}
	requireAll()
	before := tables(e)
	insert(e, 0.5) // Between the others.
	require.NoError(t, e.Compact(t.Context()))
	require.Contains(t, compressions(t, e.db), "ZSTD")
	require.Less(t, tables(e), 2*before)
	requireAll()
}
