package embeddedmongo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestDistinctReadsKeys compares the distinct values that index keys have with those of documents. Values are ids, null, missing,
// and numbers, whose types keys do not have. The same for reads of the _id alone.
func TestDistinctReadsKeys(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	indexed, plain := cl.Database("d").Collection("indexed"), cl.Database("d").Collection("plain")
	for _, k := range []D{
		{{Key: "state", Value: 1}, {Key: "flow", Value: 1}},
		{{Key: "state", Value: 1}, {Key: "at", Value: 1}, {Key: "flow", Value: -1}},
		{{Key: "state", Value: -1}, {Key: "pool", Value: -1}, {Key: "at", Value: 1}},
		{{Key: "tags", Value: 1}, {Key: "flow", Value: 1}},
	} {
		_, err := indexed.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: k})
		require.NoError(t, err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	ids := make(A, 6)
	for i := range ids {
		id := uuid.New()
		ids[i] = bson.Binary{Subtype: 4, Data: id[:]}
	}
	states := A{"FAILED", "COMPLETED", "RUNNING", nil}
	random := func(doc D, field string) D {
		switch rnd.IntN(6) {
		case 0:
			return doc
		case 1:
			return append(doc, bson.E{Key: field, Value: nil})
		case 2:
			return append(doc, bson.E{Key: field, Value: A{int32(1), int64(1), 1.0, int64(1<<60 + 1), "text"}[rnd.IntN(5)]})
		}
		return append(doc, bson.E{Key: field, Value: ids[rnd.IntN(len(ids))]})
	}
	for i := range 600 {
		id := uuid.New()
		var key any = bson.Binary{Subtype: 4, Data: id[:]}
		if i%7 == 0 {
			key = i
		}
		doc := D{{Key: "_id", Value: key}, {Key: "state", Value: states[rnd.IntN(4)]}, {Key: "at", Value: rnd.IntN(20)}, {Key: "tags", Value: A{"x", "y"}[:rnd.IntN(3)]}}
		doc = random(random(doc, "flow"), "pool")
		for _, c := range []*mongo.Collection{indexed, plain} {
			_, err := c.InsertOne(ctx, doc)
			require.NoError(t, err)
		}
	}
	least := bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	seen := map[string]bool{}
	for range 400 {
		filter := D{}
		switch rnd.IntN(3) {
		case 0:
			filter = append(filter, bson.E{Key: "state", Value: states[rnd.IntN(4)]})
		case 1:
			filter = append(filter, bson.E{Key: "state", Value: M{"$in": states[:rnd.IntN(4)]}})
		}
		for field, conditions := range map[string]A{
			"at":   {M{"$gte": rnd.IntN(20)}, M{"$in": A{1, 5, 7}}, M{"$lt": 3, "$gt": 10}},
			"flow": {M{"$gte": least}, M{"$in": ids[:rnd.IntN(len(ids))]}, M{"$ne": nil}, nil},
			"tags": {"x", M{"$in": A{"x", "y"}}, M{"$ne": "x"}},
		} {
			if rnd.IntN(3) == 0 {
				filter = append(filter, bson.E{Key: field, Value: conditions[rnd.IntN(len(conditions))]})
			}
		}
		path := []string{"flow", "pool", "at", "state"}[rnd.IntN(4)]
		var x, y A
		require.NoError(t, indexed.Distinct(ctx, path, filter).Decode(&x))
		require.NoError(t, plain.Distinct(ctx, path, filter).Decode(&y))
		require.Len(t, x, len(y), "%s %v", path, filter)
		for i := range x { // Equal numbers may have either type.
			if _, id := y[i].(bson.Binary); id || y[i] == nil {
				require.Equal(t, y[i], x[i], "%s %v", path, filter)
			}
		}
		names, _ := explain(t, indexed, D{{Key: "distinct", Value: "indexed"}, {Key: "key", Value: path}, {Key: "query", Value: filter}}).stages(t)
		seen[names[len(names)-1]] = true

		group := func(c *mongo.Collection, limit int) (values A) {
			cursor, err := c.Aggregate(ctx, A{M{"$match": filter}, M{"$group": M{"_id": "$" + path}}, M{"$limit": limit}})
			require.NoError(t, err)
			var rows []bson.M
			require.NoError(t, cursor.All(ctx, &rows))
			for _, row := range rows {
				if n, ok := row["_id"].(int32); ok { // Equal numbers may have either type.
					row["_id"] = int64(n)
				}
				if f, ok := row["_id"].(float64); ok {
					row["_id"] = int64(f)
				}
				values = append(values, row["_id"])
			}
			return values
		}
		all := group(plain, 1000)
		require.ElementsMatch(t, all, group(indexed, 1000), "%s %v", path, filter)
		some := group(indexed, 3)
		require.Len(t, some, min(3, len(all)))
		require.Subset(t, append(A{}, all...), append(A{}, some...), "%s %v", path, filter)

		count := func(c *mongo.Collection) map[any]any {
			cursor, err := c.Aggregate(ctx, A{M{"$match": filter}, M{"$group": M{"_id": "$" + path, "n": M{"$sum": 1}}}})
			require.NoError(t, err)
			var rows []bson.M
			require.NoError(t, cursor.All(ctx, &rows))
			counts := map[any]any{}
			for _, row := range rows {
				if id, ok := row["_id"].(bson.Binary); ok {
					row["_id"] = string(id.Data)
				}
				if n, err := strconv.ParseFloat(fmt.Sprint(row["_id"]), 64); err == nil { // Equal numbers may have either type.
					row["_id"] = n
				}
				counts[row["_id"]] = row["n"]
			}
			return counts
		}
		require.Equal(t, count(plain), count(indexed), "%s %v", path, filter)

		var ours, theirs []bson.M
		for c, all := range map[*mongo.Collection]*[]bson.M{indexed: &ours, plain: &theirs} {
			cursor, err := c.Find(ctx, filter, options.Find().SetProjection(D{{Key: "_id", Value: 1}}))
			require.NoError(t, err)
			require.NoError(t, cursor.All(ctx, all))
		}
		require.ElementsMatch(t, theirs, ours, "%v", filter)
	}
	require.True(t, seen["DISTINCT_SCAN"] && seen["KEYS"], "%v", seen)
	r, err := s.Check(ctx)
	require.NoError(t, err)
	require.True(t, r.OK(), "%v", r)
}
