package embeddedmongo_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestCountStopsAtItsLimit counts in all ways that the planner has. A limit changes no count below it, whether or not the index has
// counters.
func TestCountStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
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
			for _, limit := range limits {
				for _, skip := range []int64{0, 3} {
					var reply struct{ N int64 }
					require.NoError(t, cl.Database("d").RunCommand(t.Context(), D{
						{Key: "count", Value: "runs"}, {Key: "query", Value: filter}, {Key: "limit", Value: limit}, {Key: "skip", Value: skip},
					}).Decode(&reply))
					require.Equal(t, min(limit, all-skip), reply.N, "%s, limit %d, skip %d", name, limit, skip)
				}
			}
		}
	}
	check()
	for _, filter := range filters { // Counts without a limit make counters.
		_, err := c.CountDocuments(t.Context(), filter)
		require.NoError(t, err)
	}
	check()
}
