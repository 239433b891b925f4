package embeddedmongo_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// parallelWriters runs f in n goroutines and fails the test on the first error of each.
func parallelWriters(t *testing.T, n int, f func(worker int) error) {
	t.Helper()
	errs := make(chan error, n)
	for w := range n {
		go func() { errs <- f(w) }()
	}
	for range n {
		require.NoError(t, <-errs)
	}
}

func TestNoIncrementIsLost(t *testing.T) {
	t.Parallel()
	total, writers := 100_000, 64
	if testing.Short() {
		total = 6400
	}
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("counters")
	_, err := c.InsertOne(ctx, M{"_id": 1, "n": 0})
	require.NoError(t, err)
	var left atomic.Int64
	left.Store(int64(total))
	parallelWriters(t, writers, func(int) error {
		for left.Add(-1) >= 0 {
			if _, err := c.UpdateOne(ctx, M{"_id": 1}, M{"$inc": M{"n": 1}}); err != nil {
				return err
			}
		}
		return nil
	})
	var d struct{ N int }
	require.NoError(t, c.FindOne(ctx, M{"_id": 1}).Decode(&d))
	require.Equal(t, total, d.N)
}

func TestCompareAndSetHasOneWinner(t *testing.T) {
	t.Parallel()
	docs, rounds, writers := 100, 200, 16
	if testing.Short() {
		rounds = 20
	}
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("runs")
	for id := range docs {
		_, err := c.InsertOne(ctx, M{"_id": id, "rev": 0})
		require.NoError(t, err)
	}
	// Each revision of each document is fought for: the writers all read, then all try the same step.
	wins := make([]atomic.Int64, docs*rounds)
	parallelWriters(t, writers, func(w int) error {
		for i := w; ; {
			id := i % docs
			var d struct{ Rev int }
			if err := c.FindOne(ctx, M{"_id": id}).Decode(&d); err != nil {
				return err
			}
			if d.Rev >= rounds {
				if done(ctx, c, rounds) {
					return nil
				}
				i++
				continue
			}
			err := c.FindOneAndUpdate(ctx, M{"_id": id, "rev": d.Rev}, M{"$inc": M{"rev": 1}}).Err()
			switch {
			case err == nil:
				wins[id*rounds+d.Rev].Add(1)
			case !errors.Is(err, mongo.ErrNoDocuments):
				return err
			}
		}
	})
	for i := range wins {
		require.EqualValues(t, 1, wins[i].Load(), "document %d revision %d", i/rounds, i%rounds)
	}
}

func done(ctx context.Context, c *mongo.Collection, rounds int) bool {
	n, err := c.CountDocuments(ctx, M{"rev": M{"$lt": rounds}})
	return err == nil && n == 0
}

func TestUniqueIndexUnderRaces(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("flows")
	_, err := c.Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: D{{Key: "ws", Value: 1}, {Key: "name", Value: 1}}, Options: options.Index().SetUnique(true)},
		{Keys: D{{Key: "slugs", Value: 1}}, Options: options.Index().SetUnique(true).SetSparse(true)},
	})
	require.NoError(t, err)
	const names = 200
	var created, renamed atomic.Int64
	parallelWriters(t, 16, func(w int) error {
		for i := range names {
			_, err := c.InsertOne(ctx, M{"ws": 1, "name": i, "slugs": A{i, 1000 + i}})
			if err == nil {
				created.Add(1)
			} else if !mongo.IsDuplicateKeyError(err) {
				return err
			}
			// Renaming onto each other: removed keys become free, added ones are fought for.
			_, err = c.UpdateOne(ctx, M{"ws": 1, "name": (i * 7) % names}, M{"$set": M{"name": (i + w) % names}})
			if err == nil {
				renamed.Add(1)
			} else if !mongo.IsDuplicateKeyError(err) {
				return err
			}
			if _, err := c.DeleteOne(ctx, M{"ws": 1, "name": (i * 13) % names}); err != nil {
				return err
			}
		}
		return nil
	})
	r, err := s.Check(ctx)
	require.NoError(t, err)
	require.True(t, r.OK(), "%v", r)
	require.Positive(t, created.Load())
	require.Positive(t, renamed.Load())
}

func TestFindAndModifyHandsOutEachJobOnce(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("jobs")
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "state", Value: 1}, {Key: "at", Value: 1}}})
	require.NoError(t, err)
	const jobs = 500
	for i := range jobs {
		_, err := c.InsertOne(ctx, M{"_id": i, "state": "new", "at": i})
		require.NoError(t, err)
	}
	var mu sync.Mutex
	taken := map[int]int{}
	parallelWriters(t, 16, func(w int) error {
		for {
			var d struct {
				ID int `bson:"_id"`
			}
			err := c.FindOneAndUpdate(ctx, M{"state": "new"}, M{"$set": M{"state": "taken", "by": w}},
				options.FindOneAndUpdate().SetSort(D{{Key: "at", Value: 1}})).Decode(&d)
			if errors.Is(err, mongo.ErrNoDocuments) {
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			taken[d.ID]++
			mu.Unlock()
		}
	})
	require.Len(t, taken, jobs)
	for id, n := range taken {
		require.Equal(t, 1, n, "job %d", id)
	}
}

func TestUpsertRaceMakesOneDocument(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("limits")
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "k", Value: 1}}, Options: options.Index().SetUnique(true)})
	require.NoError(t, err)
	parallelWriters(t, 16, func(int) error {
		for k := range 50 {
			if _, err := c.UpdateOne(ctx, M{"k": k}, M{"$inc": M{"n": 1}}, options.UpdateOne().SetUpsert(true)); err != nil {
				return err
			}
		}
		return nil
	})
	n, err := c.CountDocuments(ctx, M{"n": 16})
	require.NoError(t, err)
	require.EqualValues(t, 50, n)
}
