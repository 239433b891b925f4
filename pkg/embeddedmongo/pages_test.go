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
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// pages fills a collection whose indexes end alike, as those of runs do, and another of the same documents without any.
func pages(t *testing.T, n int) (indexed, plain *mongo.Collection) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	indexed, plain = cl.Database("d").Collection("indexed"), cl.Database("d").Collection("plain")
	index := func(partial any, fields ...string) {
		keys := D{{Key: "ws", Value: 1}}
		for _, f := range fields {
			keys = append(keys, bson.E{Key: f, Value: 1})
		}
		o := options.Index()
		if partial != nil {
			o.SetPartialFilterExpression(partial)
		}
		_, err := indexed.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys, Options: o})
		require.NoError(t, err)
	}
	index(nil, "at", "_id", "name")
	index(nil, "kind", "at", "_id")
	index(nil, "owner", "at", "_id")
	index(nil, "tags", "at", "_id")
	index(nil, "due", "_id")
	index(nil, "kind", "owner")
	index(M{"queue": M{"$exists": true}}, "queue", "at", "_id")
	index(M{"begun": nil}, "at", "_id")
	rnd := rand.New(rand.NewPCG(7, 7))
	var docs []any
	for i := range n {
		d := D{
			{Key: "_id", Value: i},
			{Key: "ws", Value: 1 + i%10/9},
			{Key: "at", Value: i / 3},
			{Key: "name", Value: fmt.Sprintf("run-%d", rnd.IntN(50))},
			{Key: "owner", Value: rnd.IntN(5)},
			{Key: "due", Value: rnd.IntN(n)},
		}
		if k := rnd.IntN(6); k > 0 {
			d = append(d, bson.E{Key: "kind", Value: string(rune('a' + k))})
		}
		if q := rnd.IntN(4); q > 0 {
			d = append(d, bson.E{Key: "queue", Value: q})
		}
		if i < n-100 {
			d = append(d, bson.E{Key: "begun", Value: i})
		}
		if some := rnd.IntN(8); some > 0 {
			tags := A{}
			for b := range 3 {
				if some>>b&1 > 0 {
					tags = append(tags, string(rune('x'+b)))
				}
			}
			d = append(d, bson.E{Key: "tags", Value: tags})
		} else if rnd.IntN(2) > 0 {
			d = append(d, bson.E{Key: "tags", Value: A{}})
		}
		docs = append(docs, d)
	}
	for _, c := range []*mongo.Collection{indexed, plain} {
		_, err := c.InsertMany(ctx, docs)
		require.NoError(t, err)
	}
	return indexed, plain
}

// Pages, counts and groups by indexes are those that a read of all documents gives, for any filter.
func TestPagesAgree(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	indexed, plain := pages(t, 3000)
	tags := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z", "nothing"}), 1, 3)
	conditions := map[string]func(*rapid.T) any{
		"kind": func(r *rapid.T) any {
			list := rapid.SliceOfN(rapid.SampledFrom([]any{"b", "c", "d", nil, "nothing"}), 1, 3).Draw(r, "kinds")
			return rapid.SampledFrom([]any{list[0], M{"$in": list}, M{"$nin": list}}).Draw(r, "kind")
		},
		"owner": func(r *rapid.T) any {
			return rapid.SampledFrom([]any{1, M{"$in": A{1, 3}}, M{"$ne": 2}, M{"$gte": 3}}).Draw(r, "owner")
		},
		"tags": func(r *rapid.T) any {
			if rapid.Bool().Draw(r, "empty") {
				return M{rapid.SampledFrom([]string{"$in", "$nin"}).Draw(r, "operator"): A{nil, A{}}}
			}
			return M{rapid.SampledFrom([]string{"$all", "$in", "$nin"}).Draw(r, "operator"): tags.Draw(r, "tags")}
		},
		"name": func(r *rapid.T) any {
			return rapid.SampledFrom([]any{M{"$regex": "-1"}, M{"$regex": "^RUN-7$", "$options": "i"}, "run-3", M{"$not": M{"$regex": "2"}}}).Draw(r, "name")
		},
		"at": func(r *rapid.T) any {
			from := rapid.IntRange(-10, 1100).Draw(r, "from")
			return M{"$gte": from, "$lt": from + rapid.IntRange(0, 1000).Draw(r, "length")}
		},
		"due": func(r *rapid.T) any {
			return M{"$gte": rapid.SampledFrom([]int{0, 1500, 2900, 2990}).Draw(r, "due")}
		},
		"queue": func(r *rapid.T) any {
			return rapid.SampledFrom([]any{1, M{"$in": A{1, 2}}, nil, M{"$ne": nil}, M{"$nin": A{2, nil}}, M{"$exists": true}, M{"$exists": false}}).Draw(r, "queue")
		},
		"begun": func(*rapid.T) any { return nil },
		"_id":   func(r *rapid.T) any { return M{"$nin": A{rapid.IntRange(0, 3000).Draw(r, "id")}} },
	}
	var names []string
	for _, name := range []string{"kind", "owner", "tags", "name", "at", "due", "queue", "begun", "_id"} {
		require.Contains(t, conditions, name)
		names = append(names, name)
	}
	rapid.Check(t, func(r *rapid.T) {
		filter := D{{Key: "ws", Value: 1}}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID[string]).Draw(r, "fields") {
			filter = append(filter, bson.E{Key: name, Value: conditions[name](r)})
		}
		way := rapid.SampledFrom([]int{1, -1}).Draw(r, "way")
		sort := D{{Key: rapid.SampledFrom([]string{"at", "due", "name"}).Draw(r, "sort"), Value: way}, {Key: "_id", Value: way}}
		o := options.Find().SetSort(sort).SetSkip(int64(rapid.SampledFrom([]int{0, 0, 1, 150}).Draw(r, "skip"))).
			SetLimit(int64(rapid.SampledFrom([]int{0, 1, 20, 200}).Draw(r, "limit")))
		groups := A{M{"$match": filter}, M{"$group": M{"_id": rapid.SampledFrom([]string{"$owner", "$queue"}).Draw(r, "path")}}, M{"$sort": M{"_id": 1}}}
		var ids [2][]int
		var counts [2]int64
		var grouped [2][]bson.D
		for i, c := range []*mongo.Collection{indexed, plain} {
			cursor, err := c.Find(ctx, filter, o)
			require.NoError(r, err)
			var found []struct {
				ID int `bson:"_id"`
			}
			require.NoError(r, cursor.All(ctx, &found))
			for _, d := range found {
				ids[i] = append(ids[i], d.ID)
			}
			counts[i], err = c.CountDocuments(ctx, filter)
			require.NoError(r, err)
			cursor, err = c.Aggregate(ctx, groups)
			require.NoError(r, err)
			require.NoError(r, cursor.All(ctx, &grouped[i]))
		}
		require.Equal(r, grouped[1], grouped[0], "groups of %v", filter)
		require.Equal(r, ids[1], ids[0], "%v by %v", filter, sort)
		require.Equal(r, counts[1], counts[0], "%v", filter)
	})
}
