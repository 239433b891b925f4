package embeddedmongo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// referring inserts documents that refer to others, two in three, and creates indexes of one of two collections.
func referring(t *testing.T) (plain, indexed *mongo.Collection) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	plain, indexed = cl.Database("d").Collection("plain"), cl.Database("d").Collection("indexed")
	random := rand.New(rand.NewPCG(1, 2))
	var docs []any
	for i := range 6000 {
		d := D{
			{Key: "_id", Value: owner(random.IntN(1<<30)<<3 + i%8)},
			{Key: "ws", Value: 1 + i%20/19},
			{Key: "n", Value: i},
			{Key: "kind", Value: fmt.Sprint("kind-", i%7)},
			{Key: "tags", Value: A{fmt.Sprint("tag-", i%3), fmt.Sprint("tag-", i%5)}},
		}
		if i%2 == 0 || i%200 < 100 {
			d = append(d, bson.E{Key: "queue", Value: []any{nil, "a", "b"}[i%37%3]})
		}
		switch {
		case i%3 > 0:
			d = append(d, bson.E{Key: "ref", Value: owner(random.IntN(2500))})
		case i%2 > 0:
			d = append(d, bson.E{Key: "ref", Value: nil})
		}
		docs = append(docs, d)
	}
	for _, c := range []*mongo.Collection{plain, indexed} {
		_, err := c.InsertMany(ctx, docs)
		require.NoError(t, err)
	}
	_, err := indexed.Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys:    D{{Key: "ws", Value: 1}, {Key: "queue", Value: 1}, {Key: "_id", Value: 1}},
		Options: options.Index().SetPartialFilterExpression(M{"queue": M{"$exists": true}}),
	})
	require.NoError(t, err)
	for _, name := range []string{"ref", "n", "kind", "tags"} {
		_, err := indexed.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "ws", Value: 1}, {Key: name, Value: 1}, {Key: "_id", Value: 1}}})
		require.NoError(t, err)
	}
	return plain, indexed
}

// Groups by a field of one index, of documents that another index decides, read no documents.
func TestGroupsByKeysOfTwoIndexes(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	plain, indexed := referring(t)
	ids := func(c *mongo.Collection, n int64) (ids A) {
		cursor, err := c.Find(ctx, D{}, options.Find().SetSort(D{{Key: "n", Value: -1}}).SetLimit(n))
		require.NoError(t, err)
		var docs []bson.M
		require.NoError(t, cursor.All(ctx, &docs))
		for _, d := range docs {
			ids = append(ids, d["_id"])
		}
		return ids
	}
	for name, tc := range map[string]struct {
		filter D
		joined bool
	}{
		"many":                 {D{{Key: "n", Value: M{"$lt": 4000}}}, true},
		"one of a list":        {D{{Key: "tags", Value: "tag-1"}}, true},
		"some of a list":       {D{{Key: "tags", Value: M{"$in": A{"tag-1", "tag-2"}}}}, true},
		"a search":             {D{{Key: "kind", Value: bson.Regex{Pattern: "kind-[12]"}}}, true},
		"values":               {D{{Key: "kind", Value: M{"$in": A{"kind-1", "kind-3", "absent"}}}}, true},
		"absent":               {D{{Key: "queue", Value: nil}, {Key: "ref", Value: M{"$lt": owner(2400)}}}, true},
		"present":              {D{{Key: "queue", Value: M{"$ne": nil}}}, false},
		"absent, and another":  {D{{Key: "queue", Value: nil}, {Key: "n", Value: M{"$lt": 4000}}}, false},
		"ids":                  {D{{Key: "_id", Value: M{"$in": ids(plain, 50)}}}, false},
		"many ids":             {D{{Key: "_id", Value: M{"$in": ids(plain, 2000)}}}, false},
		"few":                  {D{{Key: "n", Value: M{"$lt": 40}}}, false},
		"none":                 {D{{Key: "n", Value: M{"$lt": -1}}}, false},
		"two other conditions": {D{{Key: "kind", Value: "kind-1"}, {Key: "n", Value: M{"$lt": 4000}}}, false},
	} {
		for _, refers := range []bool{true, false} {
			filter := append(D{{Key: "ws", Value: 1}}, tc.filter...)
			if refers {
				filter = append(filter, bson.E{Key: "ref", Value: M{"$gte": owner(0)}})
			}
			group := func(c *mongo.Collection, limit int) (ids A) {
				cursor, err := c.Aggregate(ctx, A{M{"$match": filter}, M{"$group": M{"_id": "$ref"}}, M{"$limit": limit}})
				require.NoError(t, err)
				var rows []bson.M
				require.NoError(t, cursor.All(ctx, &rows))
				for _, row := range rows {
					ids = append(ids, row["_id"])
				}
				return ids
			}
			all := group(plain, 10_000)
			require.ElementsMatch(t, all, group(indexed, 10_000), name)
			some := group(indexed, 10)
			require.Len(t, some, min(10, len(all)), name)
			require.Subset(t, append(A{}, all...), append(A{}, some...), name)
			if tc.joined && refers {
				e := explain(t, indexed, D{{Key: "aggregate", Value: "indexed"}, {Key: "cursor", Value: D{}}, {Key: "pipeline", Value: A{
					M{"$match": filter}, M{"$group": M{"_id": "$ref"}}, M{"$limit": 10_000},
				}}})
				require.Contains(t, e.QueryPlanner.WinningPlan.String(), "KEY_JOIN", name)
			}
		}
	}
}

// A page of many ids reads the documents of the page, and ids alone read keys.
func TestPagesOfManyIDs(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	plain, indexed := referring(t)
	cursor, err := plain.Find(ctx, D{{Key: "ws", Value: 1}}, options.Find().SetSort(D{{Key: "_id", Value: -1}}).SetLimit(3000))
	require.NoError(t, err)
	var docs []bson.M
	require.NoError(t, cursor.All(ctx, &docs))
	ids := A{owner(-1)}
	for _, d := range docs {
		ids = append(ids, d["_id"])
	}
	filter := D{{Key: "ws", Value: 1}, {Key: "_id", Value: M{"$in": ids}}}
	e := explain(t, indexed, D{{Key: "find", Value: "indexed"}, {Key: "filter", Value: filter}, {Key: "sort", Value: D{{Key: "_id", Value: -1}}}, {Key: "limit", Value: 20}})
	require.EqualValues(t, 20, e.ExecutionStats.NReturned)
	require.LessOrEqual(t, e.ExecutionStats.TotalDocsExamined, int64(20))

	_, err = indexed.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "ws", Value: 1}, {Key: "_id", Value: 1}}})
	require.NoError(t, err)
	for _, more := range []bson.E{{Key: "kind", Value: "kind-1"}, {Key: "ws", Value: 1}} {
		filter := D{more, {Key: "_id", Value: M{"$in": ids}}}
		if more.Key != "ws" {
			filter = append(D{{Key: "ws", Value: 1}}, filter...)
		}
		want, err := plain.CountDocuments(ctx, filter)
		require.NoError(t, err)
		e := explain(t, indexed, D{{Key: "find", Value: "indexed"}, {Key: "filter", Value: filter}, {Key: "projection", Value: D{{Key: "_id", Value: 1}}}})
		require.Equal(t, want, e.ExecutionStats.NReturned)
		require.Zero(t, e.ExecutionStats.TotalDocsExamined)
	}
}
