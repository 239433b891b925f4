package embeddedmongo_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestOffsetsFromTheNearerEnd reads pages at offsets of the whole list, with and without a counter, forward and backward. With a
// counter a page reads at most half of the keys.
func TestOffsetsFromTheNearerEnd(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("rows")
	for _, keys := range []D{{{Key: "ws", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}}, {{Key: "ws", Value: 1}, {Key: "_id", Value: 1}}} {
		_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys})
		require.NoError(t, err)
	}
	const n, limit = 3000, 7
	var docs []any
	for ws := range 3 {
		for i := range n {
			docs = append(docs, D{{Key: "_id", Value: ws*n + i}, {Key: "ws", Value: ws}, {Key: "at", Value: i / 3}})
		}
	}
	_, err := c.InsertMany(ctx, docs)
	require.NoError(t, err)
	filter := D{{Key: "ws", Value: 1}}
	for _, withCounter := range []bool{false, true} {
		if withCounter {
			for range 2 {
				counted(t, c, filter)
				total, err := c.CountDocuments(ctx, filter)
				require.NoError(t, err)
				require.EqualValues(t, n, total)
			}
		}
		for _, way := range []int{1, -1} {
			sort := D{{Key: "at", Value: way}, {Key: "_id", Value: way}}
			for _, skip := range []int{0, 1, 2, n/2 - 1, n / 2, n/2 + 1, n - limit - 1, n - limit, n - limit + 1, n - 1, n, n + 1, 3 * n} {
				cursor, err := c.Find(ctx, filter, options.Find().SetSort(sort).SetSkip(int64(skip)).SetLimit(limit))
				require.NoError(t, err)
				var found []struct {
					ID int `bson:"_id"`
				}
				require.NoError(t, cursor.All(ctx, &found))
				require.Len(t, found, min(limit, max(0, n-skip)), "%d", skip)
				for i, row := range found {
					want := n + skip + i
					if way < 0 {
						want = 2*n - 1 - skip - i
					}
					require.Equal(t, want, row.ID, "%d by %d", skip, way)
				}
				x := explain(t, c, D{
					{Key: "find", Value: "rows"}, {Key: "filter", Value: filter}, {Key: "sort", Value: sort}, {Key: "skip", Value: skip}, {Key: "limit", Value: limit},
				})
				most := min(n, skip) + limit
				if withCounter {
					most = min(skip, max(0, n-skip)) + limit
				}
				require.LessOrEqual(t, x.ExecutionStats.TotalKeysExamined, int64(most), "%d", skip)
				require.EqualValues(t, len(found), x.ExecutionStats.TotalDocsExamined)
			}
		}
	}
}

// A counter of one workspace is no total of a filter that it does not express.
func TestOffsetsOfOtherFilters(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	indexed, plain := pages(t, 3000)
	counted(t, indexed, M{"ws": 1})
	for _, filter := range []bson.D{
		{{Key: "ws", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "kind", Value: "b"}},
		{{Key: "ws", Value: 1}, {Key: "at", Value: M{"$gte": 300}}},
		{{Key: "ws", Value: 1}, {Key: "tags", Value: "x"}},
		{{Key: "ws", Value: 1}, {Key: "kind", Value: M{"$in": A{"b", "c"}}}},
	} {
		for _, skip := range []int64{1, 700, 1600, 2900} {
			var ids [2][]bson.D
			for i, c := range []*mongo.Collection{indexed, plain} {
				sort := D{{Key: "at", Value: -1}, {Key: "_id", Value: -1}}
				cursor, err := c.Find(ctx, filter, options.Find().SetSort(sort).SetSkip(skip).SetLimit(20).SetProjection(M{"_id": 1}))
				require.NoError(t, err)
				require.NoError(t, cursor.All(ctx, &ids[i]))
			}
			require.Equal(t, ids[1], ids[0], "%v behind %d", filter, skip)
		}
	}
}
