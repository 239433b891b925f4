package embeddedmongo_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestKeysOfAMergeAreTested checks that a merge of points reads only the documents of its rows: fields behind the sort are tested on keys.
func TestKeysOfAMergeAreTested(t *testing.T) {
	t.Parallel()
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	keys := D{{Key: "ws", Value: 1}, {Key: "state", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}, {Key: "flow", Value: 1}}
	_, err := c.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: keys})
	require.NoError(t, err)
	var docs A
	for i := range 2000 {
		docs = append(docs, M{"_id": i, "ws": 1, "state": []string{"a", "b", "c"}[i%3], "at": i, "flow": i % 100})
	}
	_, err = c.InsertMany(t.Context(), docs)
	require.NoError(t, err)
	var x struct {
		ExecutionStats struct{ NReturned, TotalKeysExamined, TotalDocsExamined int64 }
	}
	require.NoError(t, cl.Database("d").RunCommand(t.Context(), bson.D{
		{Key: "explain", Value: bson.D{
			{Key: "find", Value: "c"},
			{Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "state", Value: M{"$in": A{"a", "b", "c"}}}, {Key: "flow", Value: 7}}},
			{Key: "sort", Value: D{{Key: "at", Value: -1}, {Key: "_id", Value: -1}}},
			{Key: "limit", Value: 10},
			{Key: "hint", Value: keys},
		}},
		{Key: "verbosity", Value: "executionStats"},
	}).Decode(&x))
	require.EqualValues(t, 10, x.ExecutionStats.NReturned)
	require.EqualValues(t, 10, x.ExecutionStats.TotalDocsExamined)
	require.Less(t, x.ExecutionStats.TotalKeysExamined, int64(1100))
}
