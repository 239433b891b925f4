package storage

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// BenchmarkDerive derives what a change of a document of forty fields changes in ten indexes.
func BenchmarkDerive(b *testing.B) {
	e, closing := opened(b, vfs.NewMem())
	defer closing()
	c := collection(b, e)
	for i := range 10 {
		raw, err := bson.Marshal(bson.D{{Key: "ws", Value: 1}, {Key: fmt.Sprint("field", 4*i), Value: 1}, {Key: "state.type", Value: 1}, {Key: "start", Value: 1}, {Key: "_id", Value: 1}})
		require.NoError(b, err)
		_, err = c.CreateIndex(b.Context(), IndexSpec{Name: fmt.Sprint(i), Key: raw}, noTurns)
		require.NoError(b, err)
	}
	document := func(state string) value.Doc {
		d := bson.D{{Key: "_id", Value: 1}}
		for i := range 40 {
			d = append(d, bson.E{Key: fmt.Sprint("field", i), Value: "the text of a field"})
		}
		raw, err := bson.Marshal(append(d, bson.E{Key: "ws", Value: 1}, bson.E{Key: "state", Value: bson.D{{Key: "type", Value: state}}}, bson.E{Key: "start", Value: 1}))
		require.NoError(b, err)
		return raw
	}
	before, after := document("PENDING"), document("RUNNING")
	b.ReportAllocs()
	for b.Loop() {
		ch := newChanges(c, documentKey(c, 1)[DocHeader:], before, after)
		require.NoError(b, ch.derive())
		ch.release()
	}
}
