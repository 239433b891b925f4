package query

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestJoinedCounts counts task runs by their flow runs in all ways of a join: by ids of the far side, by values of the near side, and by
// lookups of the values that are left.
func TestJoinedCounts(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	makeIndexes(t, db, false)
	const runs, tasks = 4000, 150
	var docs []any
	for i := range runs {
		docs = append(docs, append(envelope(ws, false),
			bson.E{Key: "_id", Value: binary(numbered(i))}, bson.E{Key: "name", Value: fmt.Sprintf("run-%d", i%2)},
			bson.E{Key: "sort_start", Value: int64(i)}, bson.E{Key: "expected_start_time", Value: int64(i)}))
	}
	_, err := db.Collection(string(FlowRun)).InsertMany(ctx, docs)
	require.NoError(t, err)
	docs = nil
	of := func(i int) int { return i * 40 % runs } // Two task runs of some flow runs.
	for i := range tasks {
		doc := append(envelope(ws, false), bson.E{Key: "_id", Value: binary(numbered(i))}, bson.E{Key: "dynamic_key", Value: fmt.Sprint(i)})
		if i%10 > 0 { // Others have no flow run.
			doc = append(doc, bson.E{Key: "flow_run_id", Value: binary(numbered(of(i)))})
		}
		docs = append(docs, doc)
	}
	_, err = db.Collection(string(TaskRun)).InsertMany(ctx, docs)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		in      node
		holds   func(run int) bool
		resolve Resolver
	}{
		"few ids":              {criterion("sort_start", "$lt", int64(30)), func(run int) bool { return run < 30 }, Resolver{MaxIDs: 10}},
		"ids pass by":          {criterion("sort_start", "$lt", int64(2000)), func(run int) bool { return run < 2000 }, Resolver{MaxIDs: 10}},
		"lookups of the rest":  {always{}, func(int) bool { return true }, Resolver{MaxIDs: 10}},
		"lookups":              {criterion("name", "$eq", "run-1"), func(run int) bool { return run%2 == 1 }, Resolver{MaxIDs: 10}},
		"scanned":              {criterion("sort_start", "$gte", int64(100)), func(run int) bool { return run >= 100 }, Resolver{MaxIDs: 1, Batch: 7}},
		"more than a few ids":  {criterion("sort_start", "$lt", int64(1500)), func(run int) bool { return run < 1500 }, Resolver{}},
		"all but few":          {criterion("sort_start", "$nin", bson.A{int64(40), nil}), func(run int) bool { return run != 40 }, Resolver{MaxIDs: 60}},
		"all but half":         {criterion("name", "$nin", bson.A{"run-0", nil}), func(run int) bool { return run%2 == 1 }, Resolver{MaxIDs: 60}},
		"none of the far side": {criterion("name", "$eq", "absent"), func(int) bool { return false }, Resolver{MaxIDs: 10}},
	} {
		for _, not := range []bool{false, true} {
			var want int64
			for i := range tasks {
				if related := i%10 > 0 && c.holds(of(i)); related != not {
					want++
				}
			}
			c.resolve.Reader = NewReader(db)
			s, err := c.resolve.Select(ctx, ws, Plan{own: TaskRun, root: exists{rel: taskFlowRun, in: c.in, not: not}})
			require.NoError(t, err)
			n, err := s.Count(ctx)
			require.NoError(t, err, name)
			require.Equal(t, want, n, "%s, not: %v", name, not)
			n, err = s.CountUpTo(ctx, 1)
			require.NoError(t, err, name)
			require.Equal(t, min(want, 1), n, name)
			page, err := s.Page(ctx, bson.D{{Key: "_id", Value: 1}}, 3, 1000)
			require.NoError(t, err, name)
			require.Len(t, page, max(0, int(want)-3), name)
		}
	}
}

// TestJoinedCountsOfNegations checks that a negation on the side that refers is joined by its ids, as any other filter is: what it excludes
// says nothing about documents that nothing refers to.
func TestJoinedCountsOfNegations(t *testing.T) {
	t.Parallel()
	const runs, tasks = 8000, 1700
	db, ws, ctx := database(t), uuid.New(), t.Context()
	runOf := tasksOfRuns(t, db, ws, runs, tasks)
	want := map[int]bool{}
	for i := range tasks {
		if run, ok := runOf(i); ok {
			want[run] = true
		}
	}
	require.Greater(t, len(want), lookupIDs)
	r := countReads(NewReader(db))
	s, err := Resolver{Reader: r}.Select(ctx, ws, Plan{own: FlowRun, root: exists{rel: runTaskRuns, in: criterion("created_by", "$exists", false)}})
	require.NoError(t, err)
	n, err := s.Count(ctx)
	require.NoError(t, err)
	require.EqualValues(t, len(want), n)
	require.Zero(t, r.streamed[FlowRun], "the ids of the flow runs are not read")
}
