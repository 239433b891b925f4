package embeddedmongo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// searched is a collection of 40,000 documents with few names, in two workspaces. One document has a name of its own.
func searched(t *testing.T) *mongo.Collection {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	for _, keys := range []D{
		{{Key: "ws", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}, {Key: "name", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "name", Value: 1}, {Key: "_id", Value: 1}},
	} {
		_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys})
		require.NoError(t, err)
	}
	var docs []any
	for i := range 40_000 {
		d := D{{Key: "_id", Value: i}, {Key: "ws", Value: 1 + i%10/9}, {Key: "at", Value: i}}
		switch {
		case i == 7:
			d = append(d, bson.E{Key: "name", Value: "Rare"})
		case i%5 > 0:
			d = append(d, bson.E{Key: "name", Value: fmt.Sprintf("name-%d", i%100)})
		case i%25 == 0:
			d = append(d, bson.E{Key: "name", Value: i})
		}
		docs = append(docs, d)
	}
	_, err := c.InsertMany(ctx, docs)
	require.NoError(t, err)
	return c
}

// A search that few documents match reads a few keys of each name, not all keys.
func TestSearchesReadDistinctValues(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	c := searched(t)
	search := func(text string, more ...bson.E) D {
		return append(D{{Key: "ws", Value: 1}, {Key: "name", Value: M{"$regex": text, "$options": "i"}}}, more...)
	}
	for text, want := range map[string]int64{"rare": 1, "e-11": 400, "e-13": 400, "name-": 27_999, "absent": 0, "re$": 1} {
		n, err := c.CountDocuments(ctx, search(text))
		require.NoError(t, err)
		require.Equal(t, want, n, text)
	}
	names, _ := explain(t, c, D{{Key: "count", Value: "c"}, {Key: "query", Value: search("rare")}}).stages(t)
	require.Equal(t, []string{"COUNT_SCAN"}, names)

	// A page in another order continues with the documents that have the names found.
	page := D{{Key: "find", Value: "c"}, {Key: "filter", Value: search("RARE")}, {Key: "sort", Value: D{{Key: "at", Value: -1}, {Key: "_id", Value: -1}}}, {Key: "limit", Value: 20}}
	e := explain(t, c, page)
	require.EqualValues(t, 1, e.ExecutionStats.NReturned)
	require.Less(t, e.ExecutionStats.TotalKeysExamined, int64(20_000))

	cursor, err := c.Find(ctx, search("-13"), options.Find().SetSort(D{{Key: "at", Value: -1}, {Key: "_id", Value: -1}}).SetLimit(500))
	require.NoError(t, err)
	var found []struct {
		At int `bson:"at"`
	}
	require.NoError(t, cursor.All(ctx, &found))
	require.Len(t, found, 400)
	for i, d := range found {
		require.Equal(t, 39_913-100*i, d.At)
	}

	// A document with a new name is found by the next search.
	_, err = c.InsertOne(ctx, D{{Key: "_id", Value: -1}, {Key: "ws", Value: 1}, {Key: "at", Value: -1}, {Key: "name", Value: "quite rare"}})
	require.NoError(t, err)
	n, err := c.CountDocuments(ctx, search("rare", bson.E{Key: "at", Value: M{"$lt": 0}}))
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	var values A
	require.NoError(t, c.Distinct(ctx, "at", search("rare")).Decode(&values))
	require.Len(t, values, 2)
}

// A count of a search has no bound of its values, and agrees with the documents.
func TestCountsOfManyValues(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "ws", Value: 1}, {Key: "name", Value: 1}, {Key: "_id", Value: 1}}})
	require.NoError(t, err)
	var docs []any
	want := map[string]int64{"run-": 0, "7": 0, "absent": 0}
	for i := range 12_000 {
		name := fmt.Sprintf("run-%d", i*2/3)
		docs = append(docs, D{{Key: "_id", Value: i}, {Key: "ws", Value: 1}, {Key: "name", Value: name}})
		for text := range want {
			if strings.Contains(name, text) {
				want[text]++
			}
		}
	}
	docs = append(docs, D{{Key: "_id", Value: -1}, {Key: "ws", Value: 2}, {Key: "name", Value: "run-7"}})
	_, err = c.InsertMany(ctx, docs)
	require.NoError(t, err)
	for text, n := range want {
		filter := D{{Key: "ws", Value: 1}, {Key: "name", Value: bson.Regex{Pattern: text}}}
		got, err := c.CountDocuments(ctx, filter)
		require.NoError(t, err)
		require.Equal(t, n, got, text)
		got, err = c.CountDocuments(ctx, filter, options.Count().SetLimit(100))
		require.NoError(t, err)
		require.Equal(t, min(n, 100), got, text)
	}
	// A text with a zero byte is not decided by the key alone.
	_, err = c.InsertOne(ctx, D{{Key: "_id", Value: -2}, {Key: "ws", Value: 1}, {Key: "name", Value: "run\x00absent"}})
	require.NoError(t, err)
	got, err := c.CountDocuments(ctx, D{{Key: "ws", Value: 1}, {Key: "name", Value: bson.Regex{Pattern: "absent"}}})
	require.NoError(t, err)
	require.EqualValues(t, 1, got)
}
