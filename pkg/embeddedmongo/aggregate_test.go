package embeddedmongo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// lines writes documents as extended JSON, one a line.
func lines(t *testing.T, docs []D) string {
	t.Helper()
	var s []string
	for _, d := range docs {
		b, err := bson.MarshalExtJSON(d, false, false)
		require.NoError(t, err)
		s = append(s, string(b))
	}
	return strings.Join(s, "\n")
}

func TestAggregate(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("c")
	_, err := c.InsertMany(ctx, []any{
		D{{Key: "_id", Value: 1}, {Key: "k", Value: "a"}, {Key: "n", Value: 1}, {Key: "t", Value: A{"x", "y"}}, {Key: "o", Value: M{"p": 1}}},
		D{{Key: "_id", Value: 2}, {Key: "k", Value: "b"}, {Key: "n", Value: 2}, {Key: "t", Value: A{}}},
		D{{Key: "_id", Value: 3}, {Key: "k", Value: "a"}, {Key: "n", Value: 3.5}, {Key: "t", Value: "z"}},
		D{{Key: "_id", Value: 4}, {Key: "k", Value: "a"}, {Key: "n", Value: nil}},
	})
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		stages string
		want   string
	}{
		"group": {
			`[{"$group": {"_id": "$k", "c": {"$count": {}}, "s": {"$sum": "$n"}, "lo": {"$min": "$n"}, "hi": {"$max": "$n"}}}, {"$sort": {"_id": 1}}]`,
			`{"_id":"a","c":3,"s":4.5,"lo":1,"hi":3.5}` + "\n" + `{"_id":"b","c":1,"s":2,"lo":2,"hi":2}`,
		},
		"group by document":    {`[{"$group": {"_id": {"k": "$k", "q": "$q"}, "n": {"$count": {}}}}, {"$sort": {"_id": 1}}]`, `{"_id":{"k":"a"},"n":3}` + "\n" + `{"_id":{"k":"b"},"n":1}`},
		"group of nothing":     {`[{"$match": {"k": "zz"}}, {"$group": {"_id": null, "n": {"$sum": 1}}}]`, ``},
		"count after limit":    {`[{"$limit": 3}, {"$count": "n"}]`, `{"n":3}`},
		"count of a filter":    {`[{"$match": {"k": "a"}}, {"$skip": 1}, {"$count": "n"}]`, `{"n":2}`},
		"match after group":    {`[{"$group": {"_id": "$k", "n": {"$sum": 1}}}, {"$match": {"n": {"$gt": 1}}}]`, `{"_id":"a","n":3}`},
		"match after limit":    {`[{"$sort": {"_id": 1}}, {"$limit": 2}, {"$match": {"k": "a"}}, {"$project": {"_id": 1}}]`, `{"_id":1}`},
		"limit then skip":      {`[{"$sort": {"_id": 1}}, {"$limit": 3}, {"$skip": 2}, {"$project": {"_id": 1}}]`, `{"_id":3}`},
		"sort, limit, sort":    {`[{"$sort": {"_id": -1}}, {"$limit": 2}, {"$sort": {"_id": 1}}, {"$project": {"_id": 1}}]`, `{"_id":3}` + "\n" + `{"_id":4}`},
		"group by time bucket": {`[{"$match": {"n": {"$ne": null}}}, {"$group": {"_id": {"$floor": {"$divide": ["$n", 2]}}, "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]`, `{"_id":0.0,"n":1}` + "\n" + `{"_id":1.0,"n":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			var stages A
			require.NoError(t, bson.UnmarshalExtJSON([]byte(`{"s": `+tc.stages+`}`), false, &struct{ S *A }{&stages}))
			cur, err := c.Aggregate(ctx, stages)
			require.NoError(t, err)
			var out []D
			require.NoError(t, cur.All(ctx, &out))
			require.Equal(t, tc.want, lines(t, out))
		})
	}
}

func TestProjections(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("c")
	_, err := c.InsertOne(ctx, D{{Key: "_id", Value: 1}, {Key: "a", Value: 1}, {Key: "l", Value: A{1, 2, 3, 4}}, {Key: "d", Value: A{D{{Key: "x", Value: 1}, {Key: "y", Value: 1}}, D{{Key: "x", Value: 2}, {Key: "y", Value: 2}}, 7}}, {Key: "o", Value: D{{Key: "p", Value: D{{Key: "q", Value: 1}, {Key: "r", Value: 2}}}}}})
	require.NoError(t, err)
	for projection, want := range map[string]string{
		`{"a": 1}`:                             `{"_id":1,"a":1}`,
		`{"a": 1, "_id": 0}`:                   `{"a":1}`,
		`{"_id": 1}`:                           `{"_id":1}`,
		`{"_id": 0, "l": 0, "d": 0, "o": 0}`:   `{"a":1}`,
		`{"d.x": 1}`:                           `{"_id":1,"d":[{"x":1},{"x":2}]}`,
		`{"d.x": 0, "l": 0, "o": 0}`:           `{"_id":1,"a":1,"d":[{"y":1},{"y":2},7]}`,
		`{"o": {"p": {"q": 1}}}`:               `{"_id":1,"o":{"p":{"q":1}}}`,
		`{"l": {"$slice": 2}, "d": 0, "o": 0}`: `{"_id":1,"a":1,"l":[1,2]}`,
		`{"l": {"$slice": [-3, 2]}, "a": 1}`:   `{"_id":1,"a":1,"l":[2,3]}`,
		`{"d": {"$elemMatch": {"x": 2}}}`:      `{"_id":1,"d":[{"x":2,"y":2}]}`,
		`{"l.$": 1}`:                           `{"_id":1,"l":[3]}`,
	} {
		var p D
		require.NoError(t, bson.UnmarshalExtJSON([]byte(projection), false, &p))
		var d D
		require.NoError(t, c.FindOne(ctx, M{"l": 3}, options.FindOne().SetProjection(p)).Decode(&d), projection)
		require.Equal(t, want, lines(t, []D{d}), projection)
	}
	for _, bad := range []D{{{Key: "a", Value: 1}, {Key: "l", Value: 0}}, {{Key: "a", Value: 1}, {Key: "a.b", Value: 1}}, {{Key: "a", Value: M{"$frob": 1}}}, {{Key: "a", Value: M{}}}} {
		require.Error(t, c.FindOne(ctx, M{}, options.FindOne().SetProjection(bad)).Err(), "%v", bad)
	}
}
