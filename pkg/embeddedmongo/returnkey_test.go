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

// TestReturnKey reads the fields of index entries instead of documents.
func TestReturnKey(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("runs")
	index := D{{Key: "state.type", Value: 1}, {Key: "at", Value: 1}, {Key: "took", Value: 1}}
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: index})
	require.NoError(t, err)
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "tags", Value: 1}}})
	require.NoError(t, err)
	for i := range 10 {
		doc := D{{Key: "_id", Value: i}, {Key: "state", Value: D{{Key: "type", Value: []string{"A", "B"}[i%2]}}}, {Key: "at", Value: int64(i)}, {Key: "tags", Value: []string{"x", "y"}}}
		if i != 4 {
			doc = append(doc, bson.E{Key: "took", Value: float64(i) / 2})
		}
		_, err := c.InsertOne(ctx, doc)
		require.NoError(t, err)
	}
	read := func(filter D, hint D) ([]bson.M, error) {
		cursor, err := c.Find(ctx, filter, options.Find().SetHint(hint).SetReturnKey(true))
		if err != nil {
			return nil, err
		}
		var all []bson.M
		return all, cursor.All(ctx, &all)
	}
	window := D{{Key: "state.type", Value: "A"}, {Key: "at", Value: D{{Key: "$gte", Value: 2}, {Key: "$lt", Value: 7}}}}
	got, err := read(window, index)
	require.NoError(t, err)
	require.Equal(t, []bson.M{
		{"state.type": "A", "at": 2.0, "took": 1.0}, {"state.type": "A", "at": 4.0, "took": nil}, {"state.type": "A", "at": 6.0, "took": 3.0},
	}, got)
	got, err = read(append(window, bson.E{Key: "_id", Value: D{{Key: "$gt", Value: 2}}}), index)
	require.NoError(t, err)
	require.Len(t, got, 2, "the document decides a condition on another field")
	_, err = read(D{{Key: "tags", Value: D{{Key: "$gte", Value: "x"}}}}, D{{Key: "tags", Value: 1}})
	require.ErrorContains(t, err, "returnKey")
	_, err = read(D{}, D{{Key: "_id", Value: 1}})
	require.ErrorContains(t, err, "returnKey")
}
