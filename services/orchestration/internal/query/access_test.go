package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// runsOfEveryKind inserts flow runs of ten flows, three states and two tags, each later than the one before. Only the run 7 has a deployment.
func runsOfEveryKind(t testing.TB, db *mongo.Database, ws uuid.UUID, n int) {
	t.Helper()
	makeIndexes(t, db, false)
	docs := make([]any, n)
	for i := range docs {
		doc := append(envelope(ws, false), bson.E{Key: "_id", Value: binary(numbered(i))},
			bson.E{Key: "flow_id", Value: binary(numbered(i % 10))}, bson.E{Key: "name", Value: fmt.Sprintf("run-%04d", i)},
			bson.E{Key: "state", Value: bson.D{{Key: "type", Value: []string{"COMPLETED", "FAILED", "RUNNING"}[i%3]}}},
			bson.E{Key: "sort_start", Value: int64(i)}, bson.E{Key: "expected_start_time", Value: int64(i)}, bson.E{Key: "tags", Value: bson.A{fmt.Sprint("t", i%2)}})
		if i == 7 {
			doc = append(doc, bson.E{Key: "deployment_id", Value: binary(numbered(99))})
		}
		docs[i] = doc
	}
	_, err := db.Collection(string(FlowRun)).InsertMany(t.Context(), docs)
	require.NoError(t, err)
}

// TestAccessPaths compares the index of each kind of page with the table, and the keys and documents that the server reads with those of
// its class: the rows of a page in the order of an index, the matches of a small index, or the rows divided by their share.
func TestAccessPaths(t *testing.T) {
	t.Parallel()
	const runs, size = 6000, 50
	db, ws := database(t), uuid.New()
	runsOfEveryKind(t, db, ws, runs)
	id := func(i int) string { return `"` + numbered(i).String() + `"` }
	for _, x := range []struct {
		name, filter string
		sort         orchv1.FlowRunSort
		index        string // The keys behind the workspace.
		sorted       bool   // The server sorts the matches.
		keys, docs   int64  // At most.
	}{
		{"everything", `{}`, orchv1.FlowRunSort_FLOW_RUN_SORT_START_TIME_DESC, "sort_start", false, size, size},
		{"ids", `{"id":{"any_":[` + id(1) + `,` + id(2) + `]}}`, orchv1.FlowRunSort_FLOW_RUN_SORT_START_TIME_DESC, "_id", true, 3, 2},
		{"one tag", `{"tags":{"any_":["t1"]}}`, orchv1.FlowRunSort_FLOW_RUN_SORT_START_TIME_DESC, "tags sort_start", false, size, size},
		{"two states", `{"state":{"type":{"any_":["FAILED","RUNNING"]}}}`, orchv1.FlowRunSort_FLOW_RUN_SORT_START_TIME_DESC, "state.type sort_start", false, size, size},
		{"a state and a window", `{"state":{"type":{"any_":["FAILED"]}},"expected_start_time":{"before_":"1970-01-01T00:00:00.0055Z"}}`, orchv1.FlowRunSort_FLOW_RUN_SORT_EXPECTED_START_TIME_DESC, "state.type expected_start_time", false, size, size},
		{"a rare deployment", `{"deployment_id":{"any_":[` + id(99) + `]},"tags":{"all_":["t1"]}}`, orchv1.FlowRunSort_FLOW_RUN_SORT_NAME_ASC, "deployment_id sort_start", true, 2, 1},
		{"a tag by name", `{"tags":{"any_":["t1"]}}`, orchv1.FlowRunSort_FLOW_RUN_SORT_NAME_ASC, "tags sort_start", true, runs / 2, runs / 2},
		{"a search by name", `{"name":{"like_":"run"}}`, orchv1.FlowRunSort_FLOW_RUN_SORT_NAME_ASC, "name", false, size, size},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			q := &orchv1.FlowRunQuery{FlowRuns: parse(t, &orchv1.FlowRunFilter{}, x.filter)}
			s := selectionOf(t, db, ws, q)
			sort, err := Sort(x.sort)
			require.NoError(t, err)
			hint, err := s.hint(t.Context(), sort)
			require.NoError(t, err)
			require.NotEmpty(t, hint)
			require.True(t, strings.HasPrefix(strings.TrimPrefix(strings.Join(names(hint), " "), "ws "), x.index), "%v", names(hint))
			command := bson.D{
				{Key: "find", Value: string(FlowRun)}, {Key: "filter", Value: s.filter}, {Key: "sort", Value: sort}, {Key: "limit", Value: size}, {Key: "hint", Value: hint},
			}
			plan := explain(t, db, labelledQuery{in: FlowRun, command: command})
			require.NotContains(t, plan.stages, "COLLSCAN")
			if x.sorted {
				require.Contains(t, plan.stages, "SORT")
			} else {
				require.NotContains(t, plan.stages, "SORT")
			}
			var stats struct {
				ExecutionStats struct{ TotalKeysExamined, TotalDocsExamined int64 }
			}
			require.NoError(t, db.RunCommand(t.Context(), bson.D{{Key: "explain", Value: command}, {Key: "verbosity", Value: "executionStats"}}).Decode(&stats))
			require.LessOrEqual(t, stats.ExecutionStats.TotalKeysExamined, x.keys+x.keys/5+2)
			require.LessOrEqual(t, stats.ExecutionStats.TotalDocsExamined, x.docs+x.docs/5)
		})
	}
}

// A list of more values than a server merges, and a filter of several frequent criteria, are tested in the order of the sort.
func TestAccessPathsOfBroadFilters(t *testing.T) {
	t.Parallel()
	ids := make(bson.A, mostPoints+1)
	for i := range ids {
		ids[i] = binary(numbered(i))
	}
	start := bson.D{{Key: "sort_start", Value: -1}, {Key: "_id", Value: -1}}
	for name, x := range map[string]struct {
		filter  bson.D
		first   string
		whole   bool
		gathers int
	}{
		"points of one list":       {bson.D{{Key: "flow_id", Value: bson.D{{Key: "$in", Value: ids[1:]}}}}, "flow_id", true, 0},
		"more points":              {bson.D{{Key: "flow_id", Value: bson.D{{Key: "$in", Value: ids}}}}, "sort_start", false, 1},
		"two lists":                {bson.D{{Key: "flow_id", Value: ids[0]}, {Key: "tags", Value: "a"}}, "flow_id", false, 2},
		"a partial index":          {bson.D{{Key: "work_queue_id", Value: ids[0]}}, "work_queue_id", true, 0},
		"null in a partial index":  {bson.D{{Key: "work_queue_id", Value: nil}}, "sort_start", false, 0},
		"a negation":               {bson.D{{Key: "flow_id", Value: bson.D{{Key: "$nin", Value: ids[:2]}}}}, "sort_start", false, 0},
		"a partial index's time":   {bson.D{{Key: "work_queue_id", Value: ids[0]}, {Key: "next_scheduled_start_time", Value: bson.D{{Key: "$lte", Value: 1}}}}, "work_queue_id", false, 1},
		"alternatives":             {bson.D{{Key: "$or", Value: bson.A{bson.D{{Key: "flow_id", Value: ids[0]}}}}}, "sort_start", false, 0},
		"conditions below an $and": {bson.D{{Key: "$and", Value: bson.A{bson.D{{Key: "flow_id", Value: ids[0]}}, bson.D{{Key: "flow_id", Value: ids[1]}}}}}, "flow_id", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := accessOf(FlowRun, Scope(uuid.New(), x.filter), start)
			require.Equal(t, x.first, a.ordered[1].Key)
			require.Equal(t, x.whole, a.whole)
			require.Len(t, a.gathers, x.gathers)
			for _, g := range a.gathers {
				at := slices.IndexFunc(Indexes(), func(ix Index) bool { return ix.Collection == FlowRun && slices.Equal(ix.Keys, g.index) })
				require.True(t, Indexes()[at].hasAll(conditionsOf(g.filter[1:])), "the filter %v does not imply the condition of %v", g.filter, g.index)
			}
		})
	}
	require.Equal(t, access{}, accessOf(Flow, Scope(uuid.New(), nil), start), "collections with few documents have no hints")
}

// A read of fields alone is by an index that has them, unless the criteria speak for another one.
func TestCovering(t *testing.T) {
	t.Parallel()
	id := binary(numbered(1))
	for _, x := range []struct {
		name   string
		in     Collection
		filter bson.D
		fields []string
		want   bson.D
	}{
		{"a field of all", TaskRun, nil, []string{"flow_run_id"}, scoped("flow_run_id", "_id")},
		{"ids of all", TaskRun, nil, nil, scoped("_id")},
		{"a field beside a point", TaskRun, bson.D{{Key: "state.type", Value: "FAILED"}}, []string{"flow_run_id"}, nil},
		{"ids in a window", TaskRun, bson.D{{Key: "start_time", Value: bson.D{{Key: "$gte", Value: 1}}}}, nil, scoped("start_time", "_id")},
		{"another criterion", FlowRun, bson.D{{Key: "state.type", Value: "FAILED"}, {Key: "flow_id", Value: id}}, []string{"deployment_id"}, nil},
		{"a field of no index", TaskRun, nil, []string{"cache_key"}, nil},
		{"a small collection", Flow, nil, nil, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, x.want, covering(x.in, Scope(uuid.New(), x.filter), x.fields))
		})
	}
}

// The rarest of the values that a list must have bounds its index, however frequent the others are.
func TestMatchesOfListsAreThoseOfTheRarestValue(t *testing.T) {
	t.Parallel()
	db, ws := database(t), uuid.New()
	runsOfEveryKind(t, db, ws, 40)
	_, err := db.Collection(string(FlowRun)).UpdateOne(t.Context(), bson.D{{Key: "sort_start", Value: 5}}, bson.D{{Key: "$set", Value: bson.D{{Key: "tags", Value: bson.A{"t1", "rare"}}}}})
	require.NoError(t, err)
	for filter, want := range map[string]int64{`["t1","rare"]`: 1, `["t1"]`: 20, `["rare","t1","absent"]`: 0, `["absent","absent","t1"]`: 0} {
		s := selectionOf(t, db, ws, &orchv1.FlowRunQuery{FlowRuns: parse(t, &orchv1.FlowRunFilter{}, `{"tags":{"all_":`+filter+`}}`)})
		n, err := s.matches(t.Context(), gather{index: byStart("tags"), filter: s.filter})
		require.NoError(t, err)
		require.Equal(t, want, n, filter)
	}
}

// A hint of an index that does not exist leaves the choice to the server: it is being built, or an older version dropped it.
func TestHintsOfMissingIndexesAreLeftOut(t *testing.T) {
	t.Parallel()
	db, ws := database(t), uuid.New()
	_, err := db.Collection(string(FlowRun)).InsertOne(t.Context(), append(envelope(ws, false), bson.E{Key: "_id", Value: binary(numbered(1))}))
	require.NoError(t, err)
	n := 0
	o := StreamOptions{Limit: 1, Hint: scoped("absent")}
	require.NoError(t, each(NewReader(db).Stream(context.WithoutCancel(t.Context()), FlowRun, Scope(ws, nil), o), func(bson.Raw) error { n++; return nil }))
	require.Equal(t, 1, n)
}
