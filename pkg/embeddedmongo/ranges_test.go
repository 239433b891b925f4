package embeddedmongo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestConditionsOnOneFieldAgree compares an index with a scan for several lists and ranges on one field, ascending and descending,
// with and without arrays.
func TestConditionsOnOneFieldAgree(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	values := A{nil, -1, 0, 1, int64(2), 2.5, 3, "", "a", "b", true, bson.NewObjectID(), bson.Binary{Data: []byte("x")}, D{{Key: "x", Value: 1}}}
	var docs []any
	for i, v := range values {
		docs = append(docs, D{{Key: "_id", Value: i}, {Key: "f", Value: v}})
	}
	docs = append(docs, D{{Key: "_id", Value: len(docs)}})
	arrays := append(docs[:len(docs):len(docs)], D{{Key: "_id", Value: len(docs)}, {Key: "f", Value: A{0, 3}}}, D{{Key: "_id", Value: len(docs) + 1}, {Key: "f", Value: A{}}})
	var collections []*mongo.Collection
	var indexes []string
	for i, list := range [][]any{docs, docs, arrays, arrays} {
		c := cl.Database("d").Collection(fmt.Sprint("c", i))
		_, err := c.InsertMany(ctx, list)
		require.NoError(t, err)
		name, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "f", Value: 1 - i%2*2}}})
		require.NoError(t, err)
		collections, indexes = append(collections, c), append(indexes, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom(values)
		all := A{}
		for range rapid.IntRange(1, 4).Draw(t, "conditions") {
			op := rapid.SampledFrom([]string{"$gt", "$gte", "$lt", "$lte", "$eq", "$in"}).Draw(t, "operator")
			var operand any = value.Draw(t, "operand")
			if op == "$in" {
				operand = A(rapid.SliceOfN(value, 0, 5).Draw(t, "list"))
			}
			all = append(all, D{{Key: "f", Value: D{{Key: op, Value: operand}}}})
		}
		filter := D{{Key: "$and", Value: all}}
		for n, c := range collections {
			var found [2][]D
			for i, hint := range []any{D{{Key: "$natural", Value: 1}}, indexes[n]} {
				cursor, err := c.Find(ctx, filter, options.Find().SetHint(hint).SetSort(D{{Key: "_id", Value: 1}}))
				require.NoError(t, err)
				require.NoError(t, cursor.All(ctx, &found[i]))
			}
			require.Equal(t, found[0], found[1], "%v in %s", filter, c.Name())
		}
	})
}
