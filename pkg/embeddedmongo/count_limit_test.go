package embeddedmongo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestCountStopsAtItsLimit counts in all ways that the planner has. A limit changes no count below it.
func TestCountStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	server, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("runs")
	runIndexes(t, c)
	const documents = 6000
	docs := make([]any, documents)
	for i := range docs {
		docs[i] = runDoc(i)
	}
	_, err := c.InsertMany(t.Context(), docs)
	require.NoError(t, err)
	filters := map[string]D{
		"all":        {},
		"prefix":     {{Key: "ws", Value: 1}},
		"list":       {{Key: "ws", Value: 1}, {Key: "state.type", Value: M{"$in": A{"RUNNING", "FAILED"}}}},
		"range":      {{Key: "ws", Value: 1}, {Key: "start", Value: M{"$gt": 2000}}},
		"array":      {{Key: "ws", Value: 1}, {Key: "tags", Value: M{"$in": A{"t1", "t2"}}}},
		"difference": {{Key: "ws", Value: 1}, {Key: "state.type", Value: M{"$ne": "RUNNING"}}},
		"documents":  {{Key: "rev", Value: 0}},
		"keys":       {{Key: "ws", Value: 1}, {Key: "name", Value: bson.Regex{Pattern: "7"}}},
	}
	// matching reads the documents: no counter can be wrong.
	matching := func(filter D) int64 {
		cursor, err := c.Find(t.Context(), filter)
		require.NoError(t, err)
		var found []bson.Raw
		require.NoError(t, cursor.All(t.Context(), &found))
		return int64(len(found))
	}
	limits := []int64{1, 7, 1500, documents + 1}
	check := func() {
		for name, filter := range filters {
			all := matching(filter)
			require.Equal(t, all, countWithoutConnection(t, server, filter, 0), name)
			for _, limit := range limits {
				for _, skip := range []int64{0, 3} {
					var reply struct{ N int64 }
					require.NoError(t, cl.Database("d").RunCommand(t.Context(), D{
						{Key: "count", Value: "runs"}, {Key: "query", Value: filter}, {Key: "limit", Value: limit}, {Key: "skip", Value: skip},
					}).Decode(&reply))
					require.Equal(t, min(limit, all-skip), reply.N, "%s, limit %d, skip %d", name, limit, skip)
				}
				require.Equal(t, min(limit, all), countWithoutConnection(t, server, filter, limit), "%s, limit %d", name, limit)
			}
		}
	}
	check()
}

// countWithoutConnection counts the runs that match a filter.
func countWithoutConnection(t *testing.T, s *embeddedmongo.Server, filter D, limit int64) int64 {
	t.Helper()
	raw, err := bson.Marshal(filter)
	require.NoError(t, err)
	reply, err := s.ContextDialer().Count(t.Context(), "d", "runs", raw, limit)
	require.NoError(t, err)
	n, ok := reply.Lookup("n").AsInt64OK()
	require.True(t, ok, "%s", reply)
	return n
}

// TestACountEndsWithItsContext: a count returns when its context ends. That the walk ends too, TestAbandonedReadsEndAndWritesComplete shows.
func TestACountEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	docs := make([]any, 10_000)
	for i := range docs {
		docs[i] = D{{Key: "name", Value: strings.Repeat("a", 100)}}
	}
	_, err := cl.Database("d").Collection("runs").InsertMany(t.Context(), docs)
	require.NoError(t, err)
	filter, err := bson.Marshal(D{{Key: "name", Value: bson.Regex{Pattern: "(a+)+b"}}})
	require.NoError(t, err)
	count := func(ctx context.Context) (bson.Raw, error) {
		return s.ContextDialer().Count(ctx, "d", "runs", filter, 0)
	}

	past, end := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer end()
	_, err = count(past)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	leaving, leave := context.WithCancel(t.Context())
	go leave()
	for err == nil || errors.Is(err, context.DeadlineExceeded) { // The walk may end before the caller leaves.
		_, err = count(leaving)
	}
	require.ErrorIs(t, err, context.Canceled)
	const maxTimeMSExpired = 50
	reply, err := count(late{t.Context()})
	require.NoError(t, err)
	require.EqualValues(t, maxTimeMSExpired, reply.Lookup("code").AsInt64())
	_, err = s.ContextDialer().Count(t.Context(), "d", "runs", filter[:3], 0)
	require.ErrorContains(t, err, "execute count")
	require.NoError(t, s.Close())
	_, err = count(t.Context())
	require.ErrorIs(t, err, embeddedmongo.ErrClosed)
}

// late has a deadline in the past and has not ended yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }
