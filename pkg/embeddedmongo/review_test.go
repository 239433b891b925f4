package embeddedmongo_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Matches of an index that tests its keys are not free: a sort reads their documents. TestPagesInAnotherOrder has no such index.
func TestPagesCountTheDocumentsOfASort(t *testing.T) {
	c := spread(t)
	_, err := c.Indexes().CreateOne(t.Context(), mongo.IndexModel{
		Keys:    D{{Key: "owner", Value: 1}, {Key: "parent", Value: 1}, {Key: "ws", Value: 1}},
		Options: options.Index().SetPartialFilterExpression(M{"parent": M{"$exists": true}}),
	})
	require.NoError(t, err)
	const limit = 10
	e := explain(t, c, D{
		{Key: "find", Value: "c"},
		{Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "parent", Value: M{"$ne": nil}}}},
		{Key: "sort", Value: D{{Key: "mixed", Value: 1}, {Key: "_id", Value: 1}}},
		{Key: "limit", Value: limit},
	})
	require.EqualValues(t, limit, e.ExecutionStats.NReturned)
	require.LessOrEqual(t, e.ExecutionStats.TotalDocsExamined, int64(300+2*limit))
}

// A search with more matching values than points continues in the order of the page, and reads the documents that match.
func TestSearchesOfManyValuesReadMatches(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	c := spread(t)
	_, err := c.UpdateMany(ctx, D{}, A{M{"$set": M{"name": M{"$concat": A{"run-", M{"$toString": "$at"}}}}}})
	require.NoError(t, err)
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "ws", Value: 1}, {Key: "name", Value: 1}, {Key: "_id", Value: 1}}})
	require.NoError(t, err)
	const limit = 20
	filter, sort := D{{Key: "ws", Value: 1}, {Key: "name", Value: bson.Regex{Pattern: "run-1"}}}, D{{Key: "at", Value: -1}, {Key: "_id", Value: -1}}
	e := explain(t, c, D{{Key: "find", Value: "c"}, {Key: "filter", Value: filter}, {Key: "sort", Value: sort}, {Key: "limit", Value: limit}})
	require.EqualValues(t, limit, e.ExecutionStats.NReturned)
	require.LessOrEqual(t, e.ExecutionStats.TotalDocsExamined, int64(2000))
	cursor, err := c.Find(ctx, filter, options.Find().SetSort(sort).SetLimit(limit))
	require.NoError(t, err)
	require.Equal(t, descending(19_999, limit), identifiers(t, cursor))
}

// A condition that no index decides is tested in a scan of the collection when few documents match: the order of an index would read
// each document out of its place.
func TestPagesOfRareMatchesScan(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	c := spread(t)
	sort := D{{Key: "mixed", Value: -1}, {Key: "_id", Value: -1}}
	for want, note := range map[int]string{0: "absent", 3: "rare"} {
		for i := range want {
			_, err := c.UpdateByID(ctx, 100*i, D{{Key: "$set", Value: D{{Key: "note", Value: "so " + note}}}})
			require.NoError(t, err)
		}
		filter := D{{Key: "ws", Value: 1}, {Key: "note", Value: bson.Regex{Pattern: note}}}
		cursor, err := c.Find(ctx, filter, options.Find().SetSort(sort).SetLimit(20))
		require.NoError(t, err)
		found := identifiers(t, cursor)
		require.Len(t, found, want)
		require.True(t, slices.IsSortedFunc(found, func(a, b int) int { return mixed(b) - mixed(a) }), "%v", found)
	}
}

// An index with the fields of the sort sorts its keys, and reads the documents of the page only.
func TestPagesSortKeys(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	c := spread(t)
	const limit = 200
	filter, sort := D{{Key: "ws", Value: 1}, {Key: "mark", Value: M{"$gt": 0}}}, D{{Key: "_id", Value: -1}}
	e := explain(t, c, D{{Key: "find", Value: "c"}, {Key: "filter", Value: filter}, {Key: "sort", Value: sort}, {Key: "limit", Value: limit}})
	require.EqualValues(t, limit, e.ExecutionStats.NReturned)
	require.EqualValues(t, limit, e.ExecutionStats.TotalDocsExamined)
	cursor, err := c.Find(ctx, filter, options.Find().SetSort(sort).SetSkip(3).SetLimit(limit))
	require.NoError(t, err)
	var want []int
	for i := range limit {
		want = append(want, 39_987-20*(i+3))
	}
	require.Equal(t, want, identifiers(t, cursor))
}

func mixed(i int) int { return int(uint32(i) * 2654435761 % 40_000) }

// descending returns n numbers from the first one down.
func descending(first, n int) []int {
	var out []int
	for i := range n {
		out = append(out, first-i)
	}
	return out
}

func identifiers(t *testing.T, cursor *mongo.Cursor) []int {
	t.Helper()
	var found []struct {
		ID int `bson:"_id"`
	}
	require.NoError(t, cursor.All(context.WithoutCancel(t.Context()), &found))
	var ids []int
	for _, d := range found {
		ids = append(ids, d.ID)
	}
	return ids
}
