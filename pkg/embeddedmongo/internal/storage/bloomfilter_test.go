package storage

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func TestTheFilterHasAllKeysExceptIndexEntries(t *testing.T) {
	t.Parallel()
	p := documentFilter{bloom.FilterPolicy(filterBits)}
	w := p.NewWriter(pebble.TableFilter)
	tags := []byte{tagCatalog, tagSequence, tagDoc, tagCount, tagRetired}
	for i := range 1000 {
		for _, tag := range append(tags, tagIndex) {
			w.AddKey(fmt.Appendf([]byte{tag}, "%d", i))
		}
	}
	filter := w.Finish(nil)
	require.Less(t, len(filter), 1000*(len(tags)+1)*filterBits/8, "index entries take no space")
	entries := 0
	for i := range 1000 {
		for _, tag := range tags {
			require.True(t, p.MayContain(pebble.TableFilter, filter, fmt.Appendf([]byte{tag}, "%d", i)))
		}
		if p.MayContain(pebble.TableFilter, filter, fmt.Appendf([]byte{tagIndex}, "%d", i)) {
			entries++
		}
	}
	require.Less(t, entries, 100)
}

// After a flush and a compaction, documents, index entries and counters are read from tables with filters.
func TestTablesWithFiltersAreSound(t *testing.T) {
	t.Parallel()
	e, err := Open("data", Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	c := indexed(t, e, "c")
	for round := range 3 {
		var docs []value.Doc
		for i := range 100 {
			n := round*100 + i
			docs = append(docs, encoded(t, bson.D{{Key: "_id", Value: n}, {Key: "a", Value: n % 7}, {Key: "b", Value: n % 3}, {Key: "u", Value: n}, {Key: "v", Value: n}}))
		}
		errs, _, err := insertAll(c, docs, false)
		require.NoError(t, err)
		for _, err := range errs {
			require.NoError(t, err)
		}
		require.NoError(t, e.DB().Flush())
	}
	require.NoError(t, e.DB().Compact(t.Context(), []byte{0}, []byte{0xff}, false))
	sound(t, e)
	errs, _, err := insertAll(c, []value.Doc{encoded(t, bson.D{{Key: "_id", Value: 7}}), encoded(t, bson.D{{Key: "_id", Value: 1000}, {Key: "u", Value: 7}})}, false)
	require.NoError(t, err)
	for _, err := range errs {
		require.Error(t, err, "the _id and the unique key exist")
	}
}
