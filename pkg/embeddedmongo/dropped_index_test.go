package embeddedmongo_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// Commands beside the creation and the drop of the index that they would use find all documents.
func TestCommandsBesideDroppedIndexes(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	const all, matching = 3000, 60
	var docs []any
	for i := range all {
		docs = append(docs, D{{Key: "_id", Value: i}, {Key: "ws", Value: 1}, {Key: "a", Value: i % (all / matching)}, {Key: "b", Value: i % 7}})
	}
	_, err := c.InsertMany(ctx, docs)
	require.NoError(t, err)
	filter := D{{Key: "ws", Value: 1}, {Key: "a", Value: 7}}
	cursor := func(cur *mongo.Cursor, err error) (int64, error) {
		var found []bson.Raw
		if err == nil {
			err = cur.All(ctx, &found)
		}
		return int64(len(found)), err
	}
	commands := map[string]struct {
		run  func() (int64, error)
		want int64
	}{
		"find":  {func() (int64, error) { return cursor(c.Find(ctx, filter)) }, matching},
		"count": {func() (int64, error) { return c.CountDocuments(ctx, filter) }, matching},
		"distinct": {func() (int64, error) {
			var found []any
			err := c.Distinct(ctx, "b", filter).Decode(&found)
			return int64(len(found)), err
		}, 7},
		"group": {func() (int64, error) {
			return cursor(c.Aggregate(ctx, A{M{"$match": filter}, M{"$group": M{"_id": "$b", "n": M{"$sum": 1}}}}))
		}, 7},
		"update": {func() (int64, error) {
			r, err := c.UpdateMany(ctx, filter, M{"$inc": M{"n": 1}})
			if err != nil {
				return 0, err
			}
			return r.MatchedCount, nil
		}, matching},
		"delete": {func() (int64, error) {
			own := D{{Key: "_id", Value: bson.NewObjectID()}, {Key: "ws", Value: 1}, {Key: "a", Value: -1}}
			if _, err := c.InsertOne(ctx, own); err != nil {
				return 0, err
			}
			r, err := c.DeleteMany(ctx, D{{Key: "ws", Value: 1}, {Key: "a", Value: -1}})
			if err != nil {
				return 0, err
			}
			return r.DeletedCount, nil
		}, 1},
	}
	var wg sync.WaitGroup
	var done atomic.Bool
	rounds := map[string]*atomic.Int64{}
	for name, command := range commands {
		n := &atomic.Int64{}
		rounds[name] = n
		wg.Go(func() {
			for ; !done.Load(); n.Add(1) {
				got, err := command.run()
				if err != nil || got != command.want {
					t.Errorf("%s: got %d of %d, error %v", name, got, command.want, err)
					return
				}
			}
		})
	}
	for range 20 {
		name, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "ws", Value: 1}, {Key: "a", Value: 1}}})
		require.NoError(t, err)
		require.NoError(t, c.Indexes().DropOne(ctx, name))
	}
	done.Store(true)
	wg.Wait()
	for name, n := range rounds {
		require.Positive(t, n.Load(), name)
	}
}
