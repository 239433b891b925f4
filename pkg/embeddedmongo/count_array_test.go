package embeddedmongo_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// Counters below a value of an array hold through updates and deletions: a document counts once for each of its values.
func TestCountersOfArrayValues(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "ws", Value: 1}, {Key: "tags", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}}})
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(7, 7))
	tags := func() A {
		list := A{}
		for range rnd.IntN(4) {
			list = append(list, string(rune('a'+rnd.IntN(3)))) // Some repeat.
		}
		return list
	}
	want := map[int]A{}
	var docs []any
	for i := range 6000 {
		want[i] = tags()
		docs = append(docs, D{{Key: "_id", Value: i}, {Key: "ws", Value: 1}, {Key: "at", Value: i}, {Key: "tags", Value: want[i]}})
	}
	_, err = c.InsertMany(ctx, docs)
	require.NoError(t, err)
	check := func() {
		t.Helper()
		for _, tag := range []string{"a", "b", "c", "none"} {
			n := int64(0)
			for _, list := range want {
				for _, x := range list {
					if x == tag {
						n++
						break
					}
				}
			}
			got, err := c.CountDocuments(ctx, D{{Key: "ws", Value: 1}, {Key: "tags", Value: tag}})
			require.NoError(t, err)
			require.Equal(t, n, got, tag)
		}
	}
	check() // Makes the counters.
	counted(t, c, D{{Key: "ws", Value: 1}, {Key: "tags", Value: "a"}})
	for range 300 {
		i := rnd.IntN(6000)
		if rnd.IntN(3) == 0 {
			_, err = c.DeleteOne(ctx, D{{Key: "_id", Value: i}})
			delete(want, i)
		} else {
			list := tags()
			var r *mongo.UpdateResult
			r, err = c.UpdateByID(ctx, i, D{{Key: "$set", Value: D{{Key: "tags", Value: list}}}})
			if err == nil && r.MatchedCount > 0 {
				want[i] = list
			}
		}
		require.NoError(t, err)
	}
	check()
}
