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

// explained is the part of explain's answer that the tests look at.
type explained struct {
	QueryPlanner struct {
		WinningPlan bson.Raw
	}
	ExecutionStats struct {
		NReturned, TotalKeysExamined, TotalDocsExamined int64
	}
}

// stages lists the plan's stages from the outside in, and returns the innermost.
func (e explained) stages(t *testing.T) (names []string, scan bson.Raw) {
	t.Helper()
	for p := e.QueryPlanner.WinningPlan; p != nil; {
		names = append(names, p.Lookup("stage").StringValue())
		scan = p
		in, err := p.LookupErr("inputStage")
		if err != nil {
			break
		}
		p = in.Document()
	}
	return names, scan
}

func explain(t *testing.T, c *mongo.Collection, command D) explained {
	t.Helper()
	var e explained
	require.NoError(t, c.Database().RunCommand(context.WithoutCancel(t.Context()), D{{Key: "explain", Value: command}}).Decode(&e))
	return e
}

func TestPlannerChoices(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("runs")
	runIndexes(t, c)
	var docs []any
	for i := range 6000 {
		docs = append(docs, runDoc(i))
	}
	_, err := c.InsertMany(ctx, docs)
	require.NoError(t, err)
	for _, tc := range []struct {
		name    string
		command D
		stages  []string
		index   string
		merged  bool
		back    bool
		keys    int64 // At most.
		docs    int64 // At most.
	}{
		{"by _id", D{{Key: "find", Value: "runs"}, {Key: "filter", Value: M{"_id": 7}}}, []string{"IDHACK"}, "_id_", false, false, 1, 1},
		{"by several _id", D{{Key: "find", Value: "runs"}, {Key: "filter", Value: M{"_id": M{"$in": A{1, 2, 3}}}}}, []string{"IXSCAN"}, "_id_", false, false, 3, 3},
		{
			"equality prefix, sort forward",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: M{"ws": 1}}, {Key: "sort", Value: D{{Key: "start", Value: -1}}}, {Key: "limit", Value: 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_start_-1", false, false, 10, 10,
		},
		{
			"sort backward",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: M{"ws": 1}}, {Key: "sort", Value: D{{Key: "start", Value: 1}}}, {Key: "limit", Value: 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_start_-1", false, true, 10, 10,
		},
		{
			"sort with _id as the last key",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: M{"ws": 1}}, {Key: "sort", Value: D{{Key: "start", Value: -1}, {Key: "_id", Value: 1}}}, {Key: "limit", Value: 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_start_-1", false, false, 10, 10,
		},
		{
			"sort that no index gives",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: M{"ws": 1}}, {Key: "sort", Value: D{{Key: "start", Value: -1}, {Key: "_id", Value: -1}}}, {Key: "limit", Value: 10}},
			[]string{"LIMIT", "SORT", "FETCH", "IXSCAN"},
			"ws_1_start_-1", false, false, 6000, 6000,
		},
		{
			"list with merge",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "state.type", Value: M{"$in": A{"FAILED", "RUNNING"}}}}}, {Key: "sort", Value: D{{Key: "start", Value: -1}}}, {Key: "limit", Value: 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_state.type_1_start_-1", true, false, 10, 10,
		},
		{
			"range after equality",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "start", Value: M{"$gte": 100, "$lt": 130}}}}},
			[]string{"FETCH", "IXSCAN"},
			"ws_1_start_-1", false, false, 30, 30,
		},
		{
			"the narrowest of several ranges",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "start", Value: M{"$gte": 100, "$lte": 5000}}, {Key: "$and", Value: A{M{"start": M{"$gt": 2000, "$lt": 2031}}}}}}},
			[]string{"FETCH", "IXSCAN"},
			"ws_1_start_-1", false, false, 30, 30,
		},
		{
			"a list within a range",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "start", Value: M{"$in": A{10, 20, 30, 40, "50"}}}, {Key: "$and", Value: A{M{"start": M{"$gt": 20}}}}}}},
			[]string{"FETCH", "IXSCAN"},
			"ws_1_start_-1", false, false, 2, 2,
		},
		{
			"skip on keys",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: M{"ws": 1}}, {Key: "sort", Value: D{{Key: "start", Value: -1}}}, {Key: "skip", Value: 1000}, {Key: "limit", Value: 10}},
			[]string{"LIMIT", "FETCH", "SKIP", "IXSCAN"},
			"ws_1_start_-1", false, false, 1010, 10,
		},
		{
			"multikey equality",
			D{{Key: "find", Value: "runs"}, {Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "tags", Value: "t3"}}}, {Key: "limit", Value: 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_tags_1", false, false, 10, 10,
		},
		{"one element within a range", D{{Key: "find", Value: "runs"}, {Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "tags", Value: M{"$elemMatch": M{"$gte": "t3", "$lt": "t4"}}}}}, {Key: "limit", Value: 10}}, []string{"LIMIT", "FETCH", "IXSCAN"}, "ws_1_tags_1", false, false, 10, 10},
		{"partial unique", D{{Key: "find", Value: "runs"}, {Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "key", Value: "k7"}}}}, []string{"FETCH", "IXSCAN"}, "ws_1_key_1", false, false, 1, 1},
		{"partial not implied", D{{Key: "find", Value: "runs"}, {Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "key", Value: nil}}}}, []string{"FETCH", "IXSCAN"}, "ws_1_start_-1", false, false, 6000, 6000},
		{"no filter", D{{Key: "find", Value: "runs"}}, []string{"COLLSCAN"}, "", false, false, 0, 6000},
		{"hint", D{{Key: "find", Value: "runs"}, {Key: "filter", Value: D{{Key: "ws", Value: 1}, {Key: "name", Value: "run-7"}}}, {Key: "hint", Value: "ws_1_start_-1"}}, []string{"FETCH", "IXSCAN"}, "ws_1_start_-1", false, false, 6000, 6000},
		{"count of everything", D{{Key: "count", Value: "runs"}}, []string{"RECORD_STORE_COUNT"}, "", false, false, 0, 0},
		{"covered count", D{{Key: "count", Value: "runs"}, {Key: "query", Value: D{{Key: "ws", Value: 1}, {Key: "name", Value: "run-7"}}}}, []string{"COUNT_SCAN"}, "ws_1_name_1", false, false, 10, 0},
		{"distinct", D{{Key: "distinct", Value: "runs"}, {Key: "key", Value: "state.type"}, {Key: "query", Value: M{"ws": 1}}}, []string{"DISTINCT_SCAN"}, "ws_1_state.type_1_start_-1", false, false, 0, 0},
		{"distinct with a condition on a later field", D{{Key: "distinct", Value: "runs"}, {Key: "key", Value: "state.type"}, {Key: "query", Value: M{"ws": 1, "start": M{"$lt": 100}}}, {Key: "hint", Value: "ws_1_state.type_1_start_-1"}}, []string{"DISTINCT_SCAN"}, "ws_1_state.type_1_start_-1", false, false, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := explain(t, c, tc.command)
			names, scan := e.stages(t)
			require.Equal(t, tc.stages, names, "%v", e.QueryPlanner.WinningPlan)
			if tc.index != "" {
				require.Equal(t, tc.index, scan.Lookup("indexName").StringValue())
				require.Equal(t, tc.merged, scan.Lookup("merged").Boolean())
				require.Equal(t, tc.back, scan.Lookup("direction").StringValue() == "backward")
			}
			require.LessOrEqual(t, e.ExecutionStats.TotalKeysExamined, tc.keys)
			require.LessOrEqual(t, e.ExecutionStats.TotalDocsExamined, tc.docs)
		})
	}
}

// TestPlansAgree compares random queries with and without indexes.
func TestPlansAgree(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	db := cl.Database("d")
	f := newRandom(t, 11)
	for _, k := range []D{
		{{Key: "a", Value: 1}, {Key: "b", Value: -1}}, {{Key: "t", Value: -1}}, {{Key: "st.type", Value: 1}, {Key: "d", Value: -1}}, {{Key: "arr.k", Value: 1}, {Key: "arr.v", Value: 1}}, {{Key: "n.m", Value: 1}, {Key: "a", Value: 1}}, {{Key: "s", Value: 1}, {Key: "arr", Value: 1}},
	} {
		_, err := db.Collection("indexed").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: k})
		require.NoError(t, err)
	}
	_, err := db.Collection("indexed").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "b", Value: 1}}, Options: options.Index().SetSparse(true)})
	require.NoError(t, err)
	_, err = db.Collection("indexed").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "d", Value: 1}}, Options: options.Index().SetPartialFilterExpression(M{"a": M{"$gte": 1}})})
	require.NoError(t, err)
	for id := range 400 {
		d := f.doc(id)
		if _, err := db.Collection("indexed").InsertOne(ctx, d); err != nil {
			require.True(t, parallel(err), "%v", err)
			continue
		}
		_, err := db.Collection("plain").InsertOne(ctx, d)
		require.NoError(t, err)
	}
	f.c = [2]*mongo.Collection{db.Collection("indexed"), db.Collection("plain")}
	for i := range 1500 {
		f.round(i)
		if i%5 == 0 {
			q := f.filter(1)
			a, err := f.c[0].CountDocuments(ctx, q)
			require.NoError(t, err)
			b, err := f.c[1].CountDocuments(ctx, q)
			require.NoError(t, err)
			require.Equal(t, b, a, "%v", q)
			key := []string{"b", "d", "a", "arr.v", "st.type"}[f.rnd.Intn(5)]
			var x, y A
			require.NoError(t, f.c[0].Distinct(ctx, key, q).Decode(&x))
			require.NoError(t, f.c[1].Distinct(ctx, key, q).Decode(&y))
			require.Len(t, x, len(y), "%s %v: %v %v", key, q, x, y)
		}
	}
	require.Empty(t, f.diffs)
	r, err := s.Check(ctx)
	require.NoError(t, err)
	require.True(t, r.OK(), "%v", r)
}

// TestContradictoryRangesHoldNothing guards a crash: the bounds of such a range were given to an iterator, which does
// not survive a lower one above the upper.
func TestContradictoryRangesHoldNothing(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("c")
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "ws", Value: 1}, {Key: "name", Value: 1}}})
	require.NoError(t, err)
	for i := range 100 {
		_, err := c.InsertOne(ctx, D{{Key: "ws", Value: 1}, {Key: "name", Value: string(rune('a' + i%26))}})
		require.NoError(t, err)
	}
	for _, filter := range []D{
		{{Key: "ws", Value: 1}, {Key: "name", Value: D{{Key: "$gt", Value: "q"}, {Key: "$lt", Value: "b"}}}},
		{{Key: "ws", Value: 1}, {Key: "name", Value: D{{Key: "$in", Value: bson.A{"a"}}, {Key: "$regex", Value: "^b"}}}},
		{{Key: "ws", Value: D{{Key: "$in", Value: bson.A{1, 2}}}}, {Key: "name", Value: D{{Key: "$gte", Value: "q"}, {Key: "$lt", Value: "q"}}}},
	} {
		for _, sort := range []int{1, -1} {
			cursor, err := c.Find(ctx, filter, options.Find().SetSort(D{{Key: "name", Value: sort}}))
			require.NoError(t, err)
			var found []bson.Raw
			require.NoError(t, cursor.All(ctx, &found))
			require.Empty(t, found)
		}
		n, err := c.CountDocuments(ctx, filter)
		require.NoError(t, err)
		require.Zero(t, n)
	}
}

// The count of any range equals the number of its documents.
func TestCountsOfRanges(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	for _, keys := range []D{{{Key: "ws", Value: 1}, {Key: "at", Value: 1}}, {{Key: "ws", Value: 1}, {Key: "kind", Value: 1}, {Key: "at", Value: -1}}} {
		_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys})
		require.NoError(t, err)
	}
	const all = 30_000
	var docs []any
	for i := range all {
		docs = append(docs, D{{Key: "ws", Value: 1}, {Key: "at", Value: i}, {Key: "kind", Value: i % 2}}, D{{Key: "ws", Value: 2}, {Key: "at", Value: i}})
	}
	_, err := c.InsertMany(ctx, docs)
	require.NoError(t, err)
	for _, r := range [][2]int{{0, all}, {0, all - 10}, {10, all}, {100, all - 100}, {500, 600}, {all / 2, all}, {-5, 3}, {all, all + 1}, {7, 7}, {all - 1, 2 * all}} {
		within := M{"$gte": r[0], "$lt": r[1]}
		want := int64(max(0, min(r[1], all)-max(r[0], 0)))
		n, err := c.CountDocuments(ctx, D{{Key: "ws", Value: 1}, {Key: "at", Value: within}})
		require.NoError(t, err)
		require.Equal(t, want, n, r)
		n, err = c.CountDocuments(ctx, D{{Key: "ws", Value: 1}, {Key: "kind", Value: M{"$in": A{0, 1}}}, {Key: "at", Value: within}})
		require.NoError(t, err)
		require.Equal(t, want, n, r)
	}
	_, err = c.DeleteMany(ctx, D{{Key: "ws", Value: 1}, {Key: "at", Value: M{"$lt": 10_000}}, {Key: "kind", Value: 1}})
	require.NoError(t, err)
	n, err := c.CountDocuments(ctx, D{{Key: "ws", Value: 1}, {Key: "at", Value: M{"$gte": 5_000}}})
	require.NoError(t, err)
	require.EqualValues(t, 22_500, n)
}

// An index answers these counts by tests of its keys, although its bounds do not decide the filter. Counts over arrays read documents.
func TestCountsByKeys(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	for _, keys := range []D{{{Key: "ws", Value: 1}, {Key: "_id", Value: 1}}, {{Key: "ws", Value: 1}, {Key: "name", Value: 1}}, {{Key: "ws", Value: 1}, {Key: "tags", Value: 1}, {Key: "at", Value: 1}}} {
		_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys})
		require.NoError(t, err)
	}
	var docs []any
	for i := range 3000 {
		d := D{{Key: "_id", Value: i}, {Key: "ws", Value: 1 + i/2000}, {Key: "at", Value: i}}
		if i%4 != 0 {
			d = append(d, bson.E{Key: "name", Value: string(rune('a' + i%8))})
		}
		docs = append(docs, append(d, bson.E{Key: "tags", Value: [][]string{{}, {"x"}, {"x", "y"}, {"y", "z"}}[i%4]}))
	}
	_, err := c.InsertMany(ctx, docs)
	require.NoError(t, err)
	for _, tc := range []struct {
		filter D
		want   int64
		how    string
	}{
		{D{{Key: "_id", Value: M{"$nin": A{7, 8, 2500}}}}, 1998, "COUNT_SCAN"},
		{D{{Key: "name", Value: M{"$ne": "b"}}}, 1750, "COUNT_SCAN"},
		{D{{Key: "name", Value: M{"$nin": A{"b", "c", "nothing"}}}}, 1500, "COUNT_SCAN"},
		{D{{Key: "name", Value: M{"$not": M{"$gte": "b", "$lt": "d"}}}}, 1500, "COUNT_SCAN"},
		{D{{Key: "tags", Value: M{"$nin": A{"x", "y"}}}}, 500, "FETCH"},
		{D{{Key: "tags", Value: M{"$in": A{"x", "y"}}}}, 1500, "COUNT_SCAN"},
		{D{{Key: "tags", Value: M{"$in": A{"x", "y", "z"}}}}, 1500, "COUNT_SCAN"},
		{D{{Key: "name", Value: M{"$regex": "B", "$options": "i"}}}, 250, "COUNT_SCAN"},
		{D{{Key: "name", Value: M{"$regex": "^[bc]$"}}}, 500, "COUNT_SCAN"},
		{D{{Key: "$or", Value: A{M{"name": nil}, M{"name": M{"$gt": "f"}}}}}, 1000, "COUNT_SCAN"},
		{D{{Key: "name", Value: M{"$not": M{"$regex": "b"}, "$ne": "c"}}}, 1500, "COUNT_SCAN"},
		{D{{Key: "tags", Value: M{"$all": A{"x", "y"}}}}, 500, "FETCH"},
		{D{{Key: "tags", Value: M{"$all": A{"z", "y", "y"}}}}, 500, "FETCH"},
		{D{{Key: "tags", Value: M{"$all": A{"x", "y", "z"}}}}, 0, "FETCH"},
		{D{{Key: "tags", Value: M{"$all": A{"x", "nothing"}}}}, 0, "FETCH"},
		{D{{Key: "name", Value: M{"$ne": "b"}}, {Key: "tags", Value: M{"$size": 1}}}, 250, "FETCH"},
	} {
		t.Run(tc.how, func(t *testing.T) {
			q := append(D{{Key: "ws", Value: 1}}, tc.filter...)
			n, err := c.CountDocuments(ctx, q)
			require.NoError(t, err)
			require.Equal(t, tc.want, n, tc.filter)
			names, _ := explain(t, c, D{{Key: "count", Value: "c"}, {Key: "query", Value: q}}).stages(t)
			if tc.how == "FETCH" {
				require.NotContains(t, names[0], "COUNT", tc.filter)
				return
			}
			require.Equal(t, []string{tc.how}, names, tc.filter)
		})
	}
}
