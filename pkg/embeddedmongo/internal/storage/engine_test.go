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

// Blocks that were read stay in memory, also when the memtables have grown to their full size.
func TestBlocksStayInTheCacheBesideMemtables(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	pad := strings.Repeat("x", 16<<10)
	var ids [][]byte
	for written := 0; written < 4*memTableSize; {
		var docs []value.Doc
		for range 16 {
			id := binary.BigEndian.AppendUint64(nil, uint64(len(ids))*0x9e3779b97f4a7c15)
			d := encoded(t, bson.D{{Key: "_id", Value: id}, {Key: "pad", Value: pad}})
			ids, docs, written = append(ids, value.AppendKey(nil, d.Get("_id"), false)), append(docs, d), written+len(d)
		}
		_, _, err := insertAll(c, docs, false)
		require.NoError(t, err)
	}
	require.NoError(t, e.db.Flush())
	for _, id := range ids {
		d, err := c.Get(id)
		require.NoError(t, err)
		require.NotNil(t, d)
	}
	require.Greater(t, e.db.Metrics().BlockCache.Size, int64(1<<20))
}
