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

// spread is a collection of 40,000 documents with an order of its own. One in twenty is marked, and one in a hundred has a parent.
func spread(t *testing.T) *mongo.Collection {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	docs := make([]any, 40_000)
	for i := range docs {
		mixed := mixed(i)
		d := D{{Key: "_id", Value: i}, {Key: "ws", Value: 1}, {Key: "at", Value: i}, {Key: "mixed", Value: mixed}, {Key: "owner", Value: owner(i % 10)}}
		if i%20 == 7 {
			d = append(d, bson.E{Key: "mark", Value: 1})
		}
		if i%100 == 1 {
			d = append(d, bson.E{Key: "parent", Value: i})
		}
		docs[i] = d
	}
	_, err := c.InsertMany(ctx, docs)
	require.NoError(t, err)
	for _, keys := range []D{
		{{Key: "ws", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "mixed", Value: 1}, {Key: "_id", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "mark", Value: 1}, {Key: "_id", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "owner", Value: 1}, {Key: "at", Value: 1}},
	} {
		_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys})
		require.NoError(t, err)
	}
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys:    D{{Key: "ws", Value: 1}, {Key: "parent", Value: 1}},
		Options: options.Index().SetPartialFilterExpression(M{"parent": M{"$exists": true}}),
	})
	require.NoError(t, err)
	return c
}

// A page in an order that the filter's index does not have reads keys of both indexes, and few documents besides its own.
func TestPagesInAnotherOrder(t *testing.T) {
	t.Parallel()
	c := spread(t)
	const limit = 50
	for name, filter := range map[string]D{
		"an equality":        {{Key: "mark", Value: 1}},
		"a partial index":    {{Key: "parent", Value: M{"$ne": nil}}},
		"a range, spread":    {{Key: "at", Value: M{"$gte": 38_000}}},
		"two":                {{Key: "mark", Value: 1}, {Key: "at", Value: M{"$gte": 10_000}}},
		"more than the page": {{Key: "at", Value: M{"$gte": 15_000}}},
	} {
		for _, way := range []int{1, -1} {
			e := explain(t, c, D{
				{Key: "find", Value: "c"},
				{Key: "filter", Value: append(D{{Key: "ws", Value: 1}}, filter...)},
				{Key: "sort", Value: D{{Key: "mixed", Value: way}, {Key: "_id", Value: way}}},
				{Key: "limit", Value: limit},
			})
			require.EqualValues(t, limit, e.ExecutionStats.NReturned, name)
			require.LessOrEqual(t, e.ExecutionStats.TotalDocsExamined, int64(8*limit), name)
		}
	}
}

// A page whose order begins with documents that do not match passes them by their keys.
func TestPagesPassOutsiders(t *testing.T) {
	t.Parallel()
	c := spread(t)
	const limit = 50
	e := explain(t, c, D{
		{Key: "find", Value: "c"},
		{Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "at", Value: M{"$lt": 36_000}}}},
		{Key: "sort", Value: D{{Key: "_id", Value: -1}}},
		{Key: "limit", Value: limit},
	})
	require.EqualValues(t, limit, e.ExecutionStats.NReturned)
	require.LessOrEqual(t, e.ExecutionStats.TotalDocsExamined, int64(8*limit))
	cursor, err := c.Find(t.Context(), D{{Key: "ws", Value: 1}, {Key: "at", Value: M{"$lt": 36_000}}}, options.Find().SetSort(D{{Key: "_id", Value: -1}}).SetLimit(2))
	require.NoError(t, err)
	var found []struct {
		ID int `bson:"_id"`
	}
	require.NoError(t, cursor.All(t.Context(), &found))
	require.Len(t, found, 2)
	require.Equal(t, 35_999, found[0].ID)
	require.Equal(t, 35_998, found[1].ID)
}

// Counts of fields that are there or not are differences of counters.
func TestCountsOfAbsentFields(t *testing.T) {
	t.Parallel()
	c := spread(t)
	for _, tc := range []struct {
		parent any
		want   int64
	}{
		{M{"$ne": nil}, 400},
		{nil, 39_600},
		{M{"$nin": A{1, nil}}, 399},
		{M{"$exists": true}, 400},
		{M{"$exists": false}, 39_600},
	} {
		filter := D{{Key: "ws", Value: 1}, {Key: "parent", Value: tc.parent}}
		for range 2 { // The first count makes counters.
			n, err := c.CountDocuments(t.Context(), filter)
			require.NoError(t, err)
			require.Equal(t, tc.want, n, "%v", tc.parent)
		}
		e := explain(t, c, D{{Key: "count", Value: "c"}, {Key: "query", Value: filter}})
		require.Contains(t, e.QueryPlanner.WinningPlan.String(), "COUNT_", "%v", tc.parent)
	}
}

// Groups whose matches are the newest documents, or few among many, need few documents.
func TestGroupsOfRareMatches(t *testing.T) {
	c := spread(t)
	for name, filter := range map[string]D{
		"the newest": {{Key: "at", Value: M{"$gte": 39_000}}},
		"the oldest": {{Key: "at", Value: M{"$lt": 1000}}},
		"of one":     {{Key: "mark", Value: 1}},
	} {
		filter := append(D{{Key: "ws", Value: 1}, {Key: "owner", Value: M{"$gte": owner(0)}}}, filter...)
		pipeline := A{M{"$match": filter}, M{"$group": M{"_id": "$owner"}}, M{"$limit": 100}}
		e := explain(t, c, D{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: D{}}})
		require.Contains(t, e.QueryPlanner.WinningPlan.String(), "FIRST_MATCH", name)
		want := int64(10)
		if name == "of one" {
			want = 1
		}
		require.Equal(t, want, e.ExecutionStats.NReturned, name)
	}
}

// A search whose values are too many for points tests the text in the keys, and reads the documents of its matches.
func TestSearchesReadKeys(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	c := spread(t)
	_, err := c.UpdateMany(ctx, D{}, A{M{"$set": M{"name": M{"$concat": A{"run-", M{"$toString": "$mixed"}}}}}})
	require.NoError(t, err)
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "ws", Value: 1}, {Key: "name", Value: 1}, {Key: "_id", Value: 1}}})
	require.NoError(t, err)
	search := D{{Key: "ws", Value: 1}, {Key: "name", Value: bson.Regex{Pattern: "7777"}}}
	for limit, filter := range map[int64]D{0: append(search[:2:2], bson.E{Key: "owner", Value: M{"$gte": owner(0)}}), 1000: search} {
		e := explain(t, c, D{{Key: "find", Value: "c"}, {Key: "filter", Value: filter}, {Key: "limit", Value: limit}})
		require.Positive(t, e.ExecutionStats.NReturned)
		require.Equal(t, e.ExecutionStats.NReturned, e.ExecutionStats.TotalDocsExamined)
	}
}
