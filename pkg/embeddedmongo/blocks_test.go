package embeddedmongo_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// Deep offsets and counts of ranges read a few thousand keys once the first of them has divided the index.
func TestBlocksSpareKeys(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "ws", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}}})
	require.NoError(t, err)
	const n, others, limit = 60_000, 3000, 7
	var docs []any
	for i := range n {
		docs = append(docs, D{{Key: "_id", Value: i}, {Key: "ws", Value: 2}, {Key: "at", Value: i / 3}})
	}
	for i := range others {
		docs = append(docs, D{{Key: "_id", Value: n + i}, {Key: "ws", Value: 1}, {Key: "at", Value: i}}, D{{Key: "_id", Value: -1 - i}, {Key: "ws", Value: 3}, {Key: "at", Value: i}})
	}
	_, err = c.InsertMany(ctx, docs)
	require.NoError(t, err)
	filter := D{{Key: "ws", Value: 2}}
	page := func(way, skip int) explained {
		return explain(t, c, D{
			{Key: "find", Value: "c"},
			{Key: "filter", Value: filter},
			{Key: "skip", Value: skip},
			{Key: "limit", Value: limit},
			{Key: "sort", Value: D{{Key: "at", Value: way}, {Key: "_id", Value: way}}},
		})
	}
	count := func(from, to int) (int64, string) {
		between := append(filter[:1:1], D{{Key: "at", Value: M{"$gte": from, "$lt": to}}}...)
		k, err := c.CountDocuments(ctx, between)
		require.NoError(t, err)
		return k, explain(t, c, D{{Key: "count", Value: "c"}, {Key: "query", Value: between}}).QueryPlanner.WinningPlan.String()
	}
	const few = 10_000 // Two blocks and their largest growth.
	deadline := time.Now().Add(time.Minute)
	for page(1, n/2).ExecutionStats.TotalKeysExamined > few { // The first page divides the index in the background.
		require.True(t, time.Now().Before(deadline), "not divided")
		runtime.Gosched()
	}
	for _, way := range []int{1, -1} {
		for _, skip := range []int{20_001, 22_528, n / 2, n/2 + 1, 39_999, n - limit, n - 1, n, n + others, n + 2*others - 1, n + 2*others, 2 * n} {
			cursor, err := c.Find(ctx, filter, options.Find().SetSort(D{{Key: "at", Value: way}, {Key: "_id", Value: way}}).SetSkip(int64(skip)).SetLimit(limit))
			require.NoError(t, err)
			found := identifiers(t, cursor)
			require.Len(t, found, min(limit, max(0, n-skip)), "%d", skip)
			for i, id := range found {
				want := skip + i
				if way < 0 {
					want = n - 1 - want
				}
				require.Equal(t, want, id, "%d by %d", skip, way)
			}
			require.LessOrEqual(t, page(way, skip).ExecutionStats.TotalKeysExamined, int64(few), "%d", skip)
		}
	}
	for _, r := range [][2]int{{0, n}, {5000, 15_000}, {7, 8}, {1, 19_999}, {-5, 3}} {
		got, how := count(r[0], r[1])
		require.EqualValues(t, 3*max(0, min(r[1], n/3)-max(r[0], 0)), got, "%v", r)
		if r[1]-max(r[0], 0) < 10 {
			require.Contains(t, how, "COUNT_SCAN", "%v has no whole block", r)
		} else {
			require.Contains(t, how, "COUNT_BLOCKS", "%v", r)
		}
	}
	_, err = c.DeleteMany(ctx, D{{Key: "ws", Value: 2}, {Key: "at", Value: M{"$gte": 6000, "$lt": 7000}}})
	require.NoError(t, err)
	got, _ := count(5000, 15_000)
	require.EqualValues(t, 27_000, got, "blocks follow writes")
}
