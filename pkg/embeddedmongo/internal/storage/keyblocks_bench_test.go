package storage

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// BenchmarkModifyOfDividedIndexes changes documents whose indexes are divided into blocks, and not.
func BenchmarkModifyOfDividedIndexes(b *testing.B) {
	for _, divided := range []bool{false, true} {
		b.Run(fmt.Sprintf("divided=%t", divided), func(b *testing.B) {
			e, closing := opened(b, vfs.NewMem())
			defer closing()
			c := collection(b, e)
			for _, field := range []string{"a", "b", "c", "d"} {
				key, err := bson.Marshal(bson.D{{Key: field, Value: 1}})
				require.NoError(b, err)
				_, err = c.CreateIndex(b.Context(), IndexSpec{Name: field + "_1", Key: key}, noTurns)
				require.NoError(b, err)
			}
			document := func(id, at int) value.Doc {
				d, err := bson.Marshal(bson.D{{Key: "_id", Value: id}, {Key: "a", Value: at}, {Key: "b", Value: at}, {Key: "c", Value: at}, {Key: "d", Value: at}})
				require.NoError(b, err)
				return d
			}
			const n = 50_000
			docs := make([]value.Doc, n)
			for i := range docs {
				docs[i] = document(i, i)
			}
			_, _, err := insertAll(c, docs, true)
			require.NoError(b, err)
			if divided {
				for _, ix := range c.Indexes()[1:] {
					c.Divide(ix)
				}
				e.tasks.Wait()
			}
			w := e.Begin(false, true)
			i := 0
			for b.Loop() {
				i++
				id := i * 7919 % n
				err := c.Modify(w, value.AppendKey(nil, value.OfInt(int64(id)), false), func(value.Doc) (value.Doc, Action, error) {
					return document(id, i*104729%n), Replace, nil
				})
				require.NoError(b, err)
			}
		})
	}
}
