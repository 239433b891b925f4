package plan

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// A search that began before an index of trigrams was complete does not read its postings: its state lacks some.
func TestSearchesUsePostingsOfTheirState(t *testing.T) {
	t.Parallel()
	e, err := storage.Open("data", storage.Options{FS: vfs.NewMem(), NoSync: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	c, err := e.Collection("d", "c")
	require.NoError(t, err)
	document := func(d bson.D) value.Doc {
		raw, err := bson.Marshal(d)
		require.NoError(t, err)
		return value.Doc(raw)
	}
	create := func(keys bson.D) {
		raw := document(keys)
		_, err := c.CreateIndex(t.Context(), storage.IndexSpec{Name: storage.DefaultIndexName(raw), Key: bson.Raw(raw)}, func() error { return nil })
		require.NoError(t, err)
	}
	create(bson.D{{Key: "ws", Value: 1}, {Key: "name", Value: 1}, {Key: "_id", Value: 1}})
	create(bson.D{{Key: "ws", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}})
	for i := range 10 {
		require.NoError(t, c.Insert(e.Begin(true, false), document(bson.D{{Key: "_id", Value: i}, {Key: "ws", Value: 1}, {Key: "name", Value: fmt.Sprint("name ", i)}})))
	}
	f, err := filter.Compile(document(bson.D{{Key: "ws", Value: 1}, {Key: "name", Value: bson.D{{Key: "$regex", Value: "ame"}}}}), 0)
	require.NoError(t, err)
	order, err := index.CompileSort(document(bson.D{{Key: "at", Value: 1}, {Key: "_id", Value: 1}}))
	require.NoError(t, err)
	reader := func() *storage.Reader {
		rd, err := c.Reader()
		require.NoError(t, err)
		return rd
	}
	before := reader()
	create(bson.D{{Key: "ws", Value: 1}, {Key: "name", Value: "grams"}})
	between := reader()
	create(bson.D{{Key: "ws", Value: 1}, {Key: "at", Value: "chunks"}, {Key: "name", Value: "grams"}})
	after := reader()
	for _, x := range []struct {
		rd             *storage.Reader
		values, chunks bool
	}{{before, false, false}, {between, true, false}, {after, true, true}} {
		q := Query{Filter: f, Sort: order, Limit: 5, Hint: value.Of("ws_1_at_1__id_1")}
		require.Equal(t, x.values, conjoin(f).scanOf(x.rd, q).grams != nil)
		byTime, err := New(x.rd, q)
		require.NoError(t, err)
		require.Equal(t, x.chunks, byTime.narrow != nil)
		require.NoError(t, x.rd.Close())
	}
}
