package embeddedmongo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// One command inserts good documents among bad ones of every kind, more than a batch holds. The reply has the position of each bad one
// and code; ordered, the first of them ends the command, and what came before it is stored.
func TestInsertManyTellsEachDocumentsError(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	bad := map[int]struct {
		doc  D
		code int
	}{
		100: {D{{Key: "_id", Value: 3}}, 11000},                                                     // Its _id was given before.
		130: {D{{Key: "_id", Value: A{1}}}, 53},                                                     // An array is no _id.
		131: {D{{Key: "_id", Value: 131}, {Key: "$x", Value: 1}}, 52},                               // A name that begins with a dollar.
		200: {D{{Key: "_id", Value: 200}, {Key: "ws", Value: 1}, {Key: "key", Value: "k7"}}, 11000}, // Its key is another's.
		299: {D{{Key: "_id", Value: 299}, {Key: "a", Value: A{1}}, {Key: "b", Value: A{1}}}, 171},   // Two arrays in one index.
	}
	var docs []any
	for i := range 400 {
		if b, ok := bad[i]; ok {
			docs = append(docs, b.doc)
			continue
		}
		docs = append(docs, runDoc(i))
	}
	for _, ordered := range []bool{true, false} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) {
			c := cl.Database("d").Collection(strings.ReplaceAll(t.Name(), "/", "."))
			runIndexes(t, c)
			_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "a", Value: 1}, {Key: "b", Value: 1}}})
			require.NoError(t, err)
			_, err = c.InsertMany(ctx, docs, options.InsertMany().SetOrdered(ordered))
			var bulk mongo.BulkWriteException
			require.ErrorAs(t, err, &bulk)
			want, stored := map[int]int{}, len(docs)-len(bad)
			for i, b := range bad {
				if !ordered || i == 100 {
					want[i] = b.code
				}
			}
			if ordered {
				stored = 100
			}
			got, last := map[int]int{}, -1
			for _, e := range bulk.WriteErrors {
				require.Greater(t, e.Index, last, "in the order of the documents")
				got[e.Index], last = e.Code, e.Index
			}
			require.Equal(t, want, got)
			n, err := c.CountDocuments(ctx, M{})
			require.NoError(t, err)
			require.EqualValues(t, stored, n)
		})
	}
}
