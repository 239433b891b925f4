package storage

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// BenchmarkInsertTexts inserts batches of documents like those of the server, with and without the index of their trigrams. It reports the
// nanoseconds and the bytes of the log for each document.
func BenchmarkInsertTexts(b *testing.B) {
	words := []string{"amber", "azure", "bold", "brisk", "calm", "copper", "fox", "goose", "hare", "hawk", "heron", "ibex"}
	for _, kind := range []struct {
		name     string
		indexes  int // Of entries.
		batch    int
		keys     bson.D
		document func(i int) bson.D
	}{
		{"runs, names repeat", 25, 1, bson.D{{Key: "ws", Value: 1}, {Key: "name", Value: "grams"}}, func(i int) bson.D {
			return bson.D{{Key: "name", Value: words[i%12] + "-" + words[i/12%12]}, {Key: "data", Value: make([]byte, 1200)}}
		}},
		{"runs, names differ", 25, 1, bson.D{{Key: "ws", Value: 1}, {Key: "name", Value: "grams"}}, func(i int) bson.D {
			return bson.D{{Key: "name", Value: fmt.Sprintf("import-%08d", i)}, {Key: "data", Value: make([]byte, 1200)}}
		}},
		{"logs, 10 a second", 4, 100, logGrams, func(i int) bson.D { return logOf(i, 10) }},
		{"logs, 1000 a second", 4, 100, logGrams, func(i int) bson.D { return logOf(i, 1000) }},
		{"events, 10 a second", 5, 20, eventGrams, func(i int) bson.D { return eventOf(i, 10) }},
		{"events, 1000 a second", 5, 20, eventGrams, func(i int) bson.D { return eventOf(i, 1000) }},
	} {
		for _, with := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/trigrams=%v", kind.name, with), func(b *testing.B) {
				e, closing := opened(b, vfs.NewMem())
				defer closing()
				c := collection(b, e)
				var all []bson.D
				for i := range kind.indexes {
					all = append(all, bson.D{{Key: "ws", Value: 1}, {Key: fmt.Sprint("f", i), Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}})
				}
				if with {
					all = append(all, kind.keys)
				}
				for _, keys := range all {
					raw, err := bson.Marshal(keys)
					require.NoError(b, err)
					_, err = c.CreateIndex(b.Context(), IndexSpec{Name: DefaultIndexName(value.Doc(raw)), Key: raw}, noTurns)
					require.NoError(b, err)
				}
				var docs []value.Doc
				for i := range b.N {
					raw, err := bson.Marshal(append(bson.D{
						{Key: "_id", Value: bson.Binary{Subtype: 4, Data: binaryID(i)}}, {Key: "ws", Value: bson.Binary{Subtype: 4, Data: make([]byte, 16)}},
					}, kind.document(i)...))
					require.NoError(b, err)
					docs = append(docs, raw)
				}
				before := e.db.Metrics().WAL.BytesIn
				b.ReportAllocs()
				b.ResetTimer()
				for len(docs) > 0 {
					n := min(kind.batch, len(docs))
					errs, _, err := insertAll(c, docs[:n], true)
					if err != nil || len(errs) == 0 {
						b.Fatal(errs, err)
					}
					docs = docs[n:]
				}
				b.ReportMetric(float64(e.db.Metrics().WAL.BytesIn-before)/float64(b.N), "walB/op")
			})
		}
	}
}

func binaryID(i int) []byte { return fmt.Appendf(nil, "%016d", i) }

var (
	logGrams   = bson.D{{Key: "ws", Value: 1}, {Key: "at", Value: "chunks"}, {Key: "message", Value: "grams"}, {Key: "name", Value: "grams"}}
	eventGrams = bson.D{
		{Key: "ws", Value: 1},
		{Key: "at", Value: "chunks"},
		{Key: "event", Value: "grams"},
		{Key: "resource.v", Value: "grams"},
		{Key: "related.labels.v", Value: "grams"},
		{Key: "payload", Value: "grams"},
	}
)

func logOf(i, rate int) bson.D {
	messages := []string{
		"Task run 'extract-%d' - Finished in state Completed()", "Downloading part %d of the table from the warehouse", "Flow run state changed to Running (attempt %d)",
		"Created task run 'load-%d' for task 'load'", "retrying after %d ms: connection reset by peer",
	}
	return bson.D{
		{Key: "at", Value: int64(i) * 1_000_000 / int64(rate)},
		{Key: "message", Value: fmt.Sprintf(messages[i%len(messages)], i)},
		{Key: "name", Value: "prefect.flow_runs"},
		{Key: "level", Value: 20},
		{Key: "f1", Value: binaryID(i / 50)},
	}
}

func eventOf(i, rate int) bson.D {
	rnd := rand.New(rand.NewPCG(uint64(i), 7))
	id := func() string {
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", rnd.Uint32(), rnd.IntN(1<<16), rnd.IntN(1<<12), rnd.IntN(1<<12), rnd.Int64N(1<<48))
	}
	return bson.D{
		{Key: "at", Value: int64(i) * 1_000_000 / int64(rate)},
		{Key: "event", Value: "prefect.flow-run.Completed"},
		{Key: "resource", Value: bson.A{bson.D{{Key: "k", Value: "prefect.resource.id"}, {Key: "v", Value: "prefect.flow-run." + id()}}, bson.D{{Key: "k", Value: "prefect.resource.name"}, {Key: "v", Value: "amber-fox"}}}},
		{Key: "related", Value: bson.A{bson.D{{Key: "labels", Value: bson.A{bson.D{{Key: "v", Value: "prefect.flow.00000000-1111-4222-8333-444444444444"}}, bson.D{{Key: "v", Value: "flow"}}}}}}},
		{Key: "payload", Value: `{"intended":{"from":"RUNNING","to":"COMPLETED"},"initial_state":{"type":"RUNNING","name":"Running"},"validated_state":{"type":"COMPLETED","name":"Completed","id":"` + id() + `"}}`},
	}
}
