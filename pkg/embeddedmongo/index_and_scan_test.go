package embeddedmongo_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestIndexesFindWhatScansFind has the cases that random tests found, with the matches in MongoDB. TestPlansAgreeWithScans finds others.
func TestIndexesFindWhatScansFind(t *testing.T) {
	t.Parallel()
	partial := func(filter any) *options.IndexOptionsBuilder {
		return options.Index().SetPartialFilterExpression(filter)
	}
	between := func(low, high any) D { return D{{Key: "$gt", Value: low}, {Key: "$lt", Value: high}} }
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	for i, c := range []struct {
		name   string
		docs   A // Without their _id, which is the position.
		index  mongo.IndexModel
		filter D
		want   []int32
	}{
		{
			name:  "two limits of an $elemMatch hold for different elements of an array inside",
			docs:  A{D{{Key: "a", Value: A{M{"b": A{0, 9}}}}}},
			index: mongo.IndexModel{Keys: D{{Key: "a.b", Value: 1}}}, filter: D{{Key: "a", Value: M{"$elemMatch": M{"b": between(3, 5)}}}}, want: []int32{0},
		},
		{
			name:  "and of an array two paths inside",
			docs:  A{D{{Key: "a", Value: A{M{"b": A{M{"c": A{0, 9}}}}}}}},
			index: mongo.IndexModel{Keys: D{{Key: "a.b.c", Value: -1}}}, filter: D{{Key: "a", Value: M{"$elemMatch": M{"b.c": between(3, 5)}}}}, want: []int32{0},
		},
		{
			name:  "an $elemMatch of values tests an array in the array as a whole",
			docs:  A{D{{Key: "a", Value: A{3, A{0}}}}, D{{Key: "a", Value: A{0}}}},
			index: mongo.IndexModel{Keys: D{{Key: "a", Value: 1}}}, filter: D{{Key: "a", Value: M{"$elemMatch": between(-1, 1)}}}, want: []int32{1},
		},
		{
			name:  "null at a position",
			docs:  A{D{{Key: "a", Value: A{M{"b": 1}}}}},
			index: mongo.IndexModel{Keys: D{{Key: "a.0", Value: 1}}}, filter: D{{Key: "a.0", Value: nil}}, want: []int32{0},
		},
		{
			name:   "NaN beside a partial index of a range",
			docs:   A{D{{Key: "a", Value: math.NaN()}}, D{{Key: "a", Value: 1}}},
			index:  mongo.IndexModel{Keys: D{{Key: "b", Value: 1}, {Key: "a", Value: 1}}, Options: partial(M{"a": M{"$lte": 5}})},
			filter: D{{Key: "b", Value: nil}, {Key: "a", Value: M{"$lte": math.NaN()}}}, want: []int32{0},
		},
		{
			name:   "an empty array has no element that is null",
			docs:   A{D{{Key: "a", Value: A{}}}, D{{Key: "a", Value: A{M{"b": 1}}}}, D{{Key: "a", Value: A{M{}}}}},
			index:  mongo.IndexModel{Keys: D{{Key: "a.b", Value: 1}}, Options: partial(M{"a.b": M{"$exists": true}})},
			filter: D{{Key: "a.b", Value: M{"$ne": nil}}}, want: []int32{0, 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.WithoutCancel(t.Context())
			for j := range c.docs {
				c.docs[j] = append(D{{Key: "_id", Value: int32(j)}}, c.docs[j].(D)...)
			}
			for _, kind := range []string{"scan", "index"} {
				in := cl.Database("d").Collection(fmt.Sprint(kind, i))
				if kind == "index" {
					_, err := in.Indexes().CreateOne(ctx, c.index)
					require.NoError(t, err)
				}
				_, err := in.InsertMany(ctx, c.docs)
				require.NoError(t, err)
				cursor, err := in.Find(ctx, c.filter, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
				require.NoError(t, err)
				var found []struct {
					ID int32 `bson:"_id"`
				}
				require.NoError(t, cursor.All(ctx, &found))
				var ids []int32
				for _, f := range found {
					ids = append(ids, f.ID)
				}
				require.Equal(t, c.want, ids, kind)
			}
		})
	}
}

// A hint of an index that lacks matches is refused. MongoDB obeys it, and returns a part of them.
func TestHintsOfIndexesWithoutAllMatchesAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	_, err := c.Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: D{{Key: "a", Value: 1}}, Options: options.Index().SetName("partial").SetPartialFilterExpression(M{"a": M{"$exists": true}})},
		{Keys: D{{Key: "b", Value: 1}}, Options: options.Index().SetName("sparse").SetSparse(true)},
	})
	require.NoError(t, err)
	_, err = c.InsertMany(ctx, A{M{"_id": 1, "a": 1, "b": 1}, M{"_id": 2}})
	require.NoError(t, err)
	for _, hint := range []struct {
		name    string
		implied D
	}{{"partial", D{{Key: "a", Value: M{"$gte": 0}}}}, {"sparse", D{{Key: "b", Value: 1}}}} {
		t.Run(hint.name, func(t *testing.T) {
			n, err := c.CountDocuments(ctx, hint.implied, options.Count().SetHint(hint.name))
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			var refused mongo.ServerError
			_, err = c.CountDocuments(ctx, D{}, options.Count().SetHint(hint.name))
			require.ErrorAs(t, err, &refused)
			require.True(t, refused.HasErrorCode(2), "%v", err)
			require.ErrorAs(t, c.FindOne(ctx, D{{Key: "c", Value: 2}}, options.FindOne().SetHint(hint.name)).Err(), &refused)
			require.ErrorAs(t, c.Distinct(ctx, "a", D{}, options.Distinct().SetHint(hint.name)).Err(), &refused)
			_, err = c.UpdateOne(ctx, D{{Key: "c", Value: nil}}, M{"$set": M{"c": 1}}, options.UpdateOne().SetHint(hint.name))
			require.ErrorAs(t, err, &refused)
		})
	}
}
