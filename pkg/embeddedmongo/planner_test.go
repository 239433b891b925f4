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
	require.NoError(t, c.Database().RunCommand(context.WithoutCancel(t.Context()), D{{"explain", command}}).Decode(&e))
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
		{"by _id", D{{"find", "runs"}, {"filter", M{"_id": 7}}}, []string{"IDHACK"}, "_id_", false, false, 1, 1},
		{"by several _id", D{{"find", "runs"}, {"filter", M{"_id": M{"$in": A{1, 2, 3}}}}}, []string{"IXSCAN"}, "_id_", false, false, 3, 3},
		{
			"equality prefix, sort forward",
			D{{"find", "runs"}, {"filter", M{"ws": 1}}, {"sort", D{{"start", -1}}}, {"limit", 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_start_-1", false, false, 10, 10,
		},
		{
			"sort backward",
			D{{"find", "runs"}, {"filter", M{"ws": 1}}, {"sort", D{{"start", 1}}}, {"limit", 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_start_-1", false, true, 10, 10,
		},
		{
			"sort with _id as the last key",
			D{{"find", "runs"}, {"filter", M{"ws": 1}}, {"sort", D{{"start", -1}, {"_id", 1}}}, {"limit", 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_start_-1", false, false, 10, 10,
		},
		{
			"sort that no index gives",
			D{{"find", "runs"}, {"filter", M{"ws": 1}}, {"sort", D{{"start", -1}, {"_id", -1}}}, {"limit", 10}},
			[]string{"LIMIT", "SORT", "COLLSCAN"},
			"", false, false, 0, 6000,
		},
		{
			"list with merge",
			D{{"find", "runs"}, {"filter", D{{"ws", 1}, {"state.type", M{"$in": A{"FAILED", "RUNNING"}}}}}, {"sort", D{{"start", -1}}}, {"limit", 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_state.type_1_start_-1", true, false, 10, 10,
		},
		{
			"range after equality",
			D{{"find", "runs"}, {"filter", D{{"ws", 1}, {"start", M{"$gte": 100, "$lt": 130}}}}},
			[]string{"FETCH", "IXSCAN"},
			"ws_1_start_-1", false, false, 30, 30,
		},
		{
			"skip on keys",
			D{{"find", "runs"}, {"filter", M{"ws": 1}}, {"sort", D{{"start", -1}}}, {"skip", 1000}, {"limit", 10}},
			[]string{"LIMIT", "FETCH", "SKIP", "IXSCAN"},
			"ws_1_start_-1", false, false, 1010, 10,
		},
		{
			"multikey equality",
			D{{"find", "runs"}, {"filter", D{{"ws", 1}, {"tags", "t3"}}}, {"limit", 10}},
			[]string{"LIMIT", "FETCH", "IXSCAN"},
			"ws_1_tags_1", false, false, 10, 10,
		},
		{"partial unique", D{{"find", "runs"}, {"filter", D{{"ws", 1}, {"key", "k7"}}}}, []string{"FETCH", "IXSCAN"}, "ws_1_key_1", false, false, 1, 1},
		{"partial not implied", D{{"find", "runs"}, {"filter", D{{"ws", 1}, {"key", nil}}}}, []string{"COLLSCAN"}, "", false, false, 0, 6000},
		{"wide range gives way to a scan", D{{"find", "runs"}, {"filter", D{{"ws", 1}, {"other", 5}}}}, []string{"COLLSCAN"}, "", false, false, 0, 6000},
		{"no filter", D{{"find", "runs"}}, []string{"COLLSCAN"}, "", false, false, 0, 6000},
		{"hint", D{{"find", "runs"}, {"filter", D{{"ws", 1}, {"name", "run-7"}}}, {"hint", "ws_1_start_-1"}}, []string{"FETCH", "IXSCAN"}, "ws_1_start_-1", false, false, 6000, 6000},
		{"count of everything", D{{"count", "runs"}}, []string{"RECORD_STORE_COUNT"}, "", false, false, 0, 0},
		{"covered count", D{{"count", "runs"}, {"query", D{{"ws", 1}, {"name", "run-7"}}}}, []string{"COUNT_SCAN"}, "ws_1_name_1", false, false, 10, 0},
		{"distinct", D{{"distinct", "runs"}, {"key", "state.type"}, {"query", M{"ws": 1}}}, []string{"DISTINCT_SCAN"}, "ws_1_state.type_1_start_-1", false, false, 0, 0},
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
	// The first wide count walks; from then on a counter answers, and writes keep it.
	q := D{{"ws", 1}, {"state.type", "FAILED"}}
	n, err := c.CountDocuments(ctx, M{"ws": 1})
	require.NoError(t, err)
	require.EqualValues(t, 2000, n)
	names, _ := explain(t, c, D{{"count", "runs"}, {"query", M{"ws": 1}}}).stages(t)
	require.Equal(t, []string{"COUNT_COUNTER"}, names)
	_, err = c.DeleteMany(ctx, q)
	require.NoError(t, err)
	_, err = c.InsertOne(ctx, M{"ws": 1})
	require.NoError(t, err)
	n, err = c.CountDocuments(ctx, M{"ws": 1})
	require.NoError(t, err)
	require.EqualValues(t, 1501, n)
}

// TestPlansAgree compares random queries with and without indexes.
func TestPlansAgree(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	db := cl.Database("d")
	f := newRandom(t, 11)
	for _, k := range []D{
		{{"a", 1}, {"b", -1}}, {{"t", -1}}, {{"st.type", 1}, {"d", -1}}, {{"arr.k", 1}, {"arr.v", 1}}, {{"n.m", 1}, {"a", 1}}, {{"s", 1}, {"arr", 1}},
	} {
		_, err := db.Collection("indexed").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: k})
		require.NoError(t, err)
	}
	_, err := db.Collection("indexed").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{"b", 1}}, Options: options.Index().SetSparse(true)})
	require.NoError(t, err)
	_, err = db.Collection("indexed").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{"d", 1}}, Options: options.Index().SetPartialFilterExpression(M{"a": M{"$gte": 1}})})
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
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{"ws", 1}, {"name", 1}}})
	require.NoError(t, err)
	for i := range 100 {
		_, err := c.InsertOne(ctx, D{{"ws", 1}, {"name", string(rune('a' + i%26))}})
		require.NoError(t, err)
	}
	for _, filter := range []D{
		{{"ws", 1}, {"name", D{{"$gt", "q"}, {"$lt", "b"}}}},
		{{"ws", 1}, {"name", D{{"$in", bson.A{"a"}}, {"$regex", "^b"}}}},
		{{"ws", D{{"$in", bson.A{1, 2}}}}, {"name", D{{"$gte", "q"}, {"$lt", "q"}}}},
	} {
		for _, sort := range []int{1, -1} {
			cursor, err := c.Find(ctx, filter, options.Find().SetSort(D{{"name", sort}}))
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
