package storetest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// countsIncludeEarlierWrites counts while writers insert and delete. A count includes every write that was acknowledged before it
// began, and no write that began after it ended, also when it is shared by concurrent callers.
func countsIncludeEarlierWrites(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := flows(s), uuid.New()
	filter := query.Scope(ws, bson.D{{Key: "tags", Value: "counted"}})
	// Began counts the writes that began, done those that were acknowledged.
	var inserts, deletes struct{ began, done atomic.Int64 }
	check := func() {
		least, most := inserts.done.Load(), -deletes.done.Load()
		for _, count := range []func() (int64, error){
			func() (int64, error) { return c.Count(t.Context(), ws, store.Query{}) },
			func() (int64, error) { return s.Reader().Count(t.Context(), query.Flow, filter, 0) },
		} {
			n, err := count()
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, least-deletes.began.Load())
			require.LessOrEqual(t, n, most+inserts.began.Load())
		}
	}
	const writers, each = 8, 25
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := range each {
				key := uuid.New()
				inserts.began.Add(1)
				require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: key.String(), Tags: []string{"counted"}}))
				inserts.done.Add(1)
				check()
				if i%3 == 0 {
					deletes.began.Add(1)
					require.NoError(t, c.Delete(t.Context(), ws, key, func(*orchv1.Flow) ([]store.Effect, error) { return nil, nil }))
					deletes.done.Add(1)
					check()
				}
			}
		})
	}
	group.Wait()
	n, err := c.Count(t.Context(), ws, store.Query{})
	require.NoError(t, err)
	require.Equal(t, inserts.done.Load()-deletes.done.Load(), n)
}

// countsStopAtTheirLimit: below its limit a count is exact, and at its limit it says no more.
func countsStopAtTheirLimit(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := flows(s), uuid.New()
	const documents = 20
	for range documents {
		key := uuid.New()
		require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: key.String(), Tags: []string{"counted"}}))
	}
	filter := bson.D{{Key: "tags", Value: "counted"}}
	for limit, want := range map[int64]int64{0: documents, 1: 1, documents - 1: documents - 1, documents: documents, documents + 1: documents} {
		n, err := c.Count(t.Context(), ws, store.Query{Filter: filter, Limit: limit})
		require.NoError(t, err)
		require.Equal(t, want, n, "limit %d", limit)
	}
}
