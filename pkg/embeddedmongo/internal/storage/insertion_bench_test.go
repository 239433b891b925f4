package storage

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// BenchmarkInsertMany inserts events with random ids, in batches with five indexes.
func BenchmarkInsertMany(b *testing.B) {
	e, err := Open("data", Options{FS: vfs.NewMem(), NoSync: true})
	require.NoError(b, err)
	defer func() { require.NoError(b, e.Close()) }()
	c := collection(b, e)
	for _, key := range []bson.D{
		{{Key: "ws", Value: 1}, {Key: "occurred", Value: 1}, {Key: "_id", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "event", Value: 1}, {Key: "occurred", Value: 1}, {Key: "_id", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "resource", Value: 1}, {Key: "occurred", Value: 1}, {Key: "_id", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "resources", Value: 1}, {Key: "occurred", Value: 1}, {Key: "_id", Value: 1}},
		{{Key: "expires", Value: 1}},
	} {
		raw, err := bson.Marshal(key)
		require.NoError(b, err)
		_, err = c.CreateIndex(b.Context(), IndexSpec{Name: fmt.Sprint(key), Key: raw}, noTurns)
		require.NoError(b, err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	binary := func(a, b uint64) bson.Binary {
		id := make([]byte, 16)
		for i := range 8 {
			id[i], id[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
		}
		return bson.Binary{Subtype: 4, Data: id}
	}
	ws, now := binary(1, 2), time.Now()
	pad := make([]byte, 400)
	b.ReportAllocs()
	for range b.N {
		b.StopTimer()
		var docs []value.Doc
		for range MaxInserted {
			now = now.Add(time.Millisecond)
			raw, err := bson.Marshal(bson.D{
				{Key: "_id", Value: binary(rnd.Uint64(), rnd.Uint64())},
				{Key: "ws", Value: ws},
				{Key: "occurred", Value: now},
				{Key: "event", Value: "bench.event"},
				{Key: "resource", Value: "bench.res.1"},
				{Key: "resources", Value: bson.A{"bench.res.1", "bench.rel.1"}},
				{Key: "expires", Value: now},
				{Key: "pad", Value: pad},
			})
			require.NoError(b, err)
			docs = append(docs, raw)
		}
		b.StartTimer()
		errs, _, err := insertAll(c, docs, false)
		require.NoError(b, err)
		require.NoError(b, errs[0])
	}
}
