package embeddedmongo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// owner is an id by which documents are grouped.
func owner(n int) bson.Binary {
	return bson.Binary{Subtype: 4, Data: fmt.Appendf(nil, "owner-%010d", n)}
}

// owned is a collection of 30,000 documents of ten owners. One in three is odd, and one owner has no odd documents.
func owned(t *testing.T) *mongo.Collection {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	var docs []any
	for i := range 30_000 {
		d := D{{Key: "_id", Value: i}, {Key: "ws", Value: 1}, {Key: "at", Value: i}}
		if i%11 > 0 {
			d = append(d, bson.E{Key: "owner", Value: owner(i % 11)})
		}
		if i%3 == 0 && i%11 != 4 {
			d = append(d, bson.E{Key: "kind", Value: "odd"})
		}
		if i == 29_000 {
			d = append(d, bson.E{Key: "due", Value: i})
		}
		docs = append(docs, d)
	}
	_, err := c.InsertMany(ctx, docs)
	require.NoError(t, err)
	for _, keys := range []D{{{Key: "ws", Value: 1}, {Key: "owner", Value: 1}, {Key: "at", Value: 1}}, {{Key: "ws", Value: 1}, {Key: "at", Value: 1}}} {
		_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys})
		require.NoError(t, err)
	}
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys:    D{{Key: "ws", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}},
		Options: options.Index().SetName("due").SetPartialFilterExpression(M{"due": M{"$exists": true}}),
	})
	require.NoError(t, err)
	return c
}

// Groups whose documents mostly match are found by a few documents of each.
func TestGroupsEndAtTheirFirstMatch(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	c := owned(t)
	for _, tc := range []struct {
		filter D
		want   int
		stage  string
	}{
		{D{{Key: "kind", Value: "odd"}}, 9, "FIRST_MATCH"},
		{D{{Key: "kind", Value: M{"$ne": "odd"}}}, 10, "FIRST_MATCH"},
		{D{{Key: "kind", Value: "odd"}, {Key: "owner", Value: M{"$in": A{owner(3), owner(4), owner(5)}}}}, 2, "FIRST_MATCH"},
		{D{{Key: "kind", Value: "odd"}, {Key: "at", Value: M{"$gte": 29_990}}}, 3, ""},
		{D{{Key: "kind", Value: "absent"}}, 0, ""},
	} {
		filter := append(D{{Key: "ws", Value: 1}}, tc.filter...)
		if len(tc.filter) == 1 {
			filter = append(filter, bson.E{Key: "owner", Value: M{"$gte": bson.Binary{Subtype: 4, Data: make([]byte, 16)}}})
		}
		pipeline := A{M{"$match": filter}, M{"$group": M{"_id": "$owner"}}, M{"$limit": 100}}
		cursor, err := c.Aggregate(ctx, pipeline)
		require.NoError(t, err)
		var groups []bson.D
		require.NoError(t, cursor.All(ctx, &groups))
		require.Len(t, groups, tc.want, "%v", tc.filter)
		if tc.stage != "" {
			e := explain(t, c, D{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: D{}}})
			require.Contains(t, e.QueryPlanner.WinningPlan.String(), tc.stage)
		}
	}
}

// A partial index with few documents serves a page in another order.
func TestPartialIndexesOfFewDocuments(t *testing.T) {
	t.Parallel()
	c := owned(t)
	for _, present := range []M{{"$exists": true}, {"$ne": nil}} {
		e := explain(t, c, D{
			{Key: "find", Value: "c"},
			{Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "due", Value: present}}},
			{Key: "sort", Value: D{{Key: "_id", Value: -1}}},
			{Key: "limit", Value: 20},
		})
		require.EqualValues(t, 1, e.ExecutionStats.NReturned)
		require.LessOrEqual(t, e.ExecutionStats.TotalDocsExamined, int64(1))
	}
}
