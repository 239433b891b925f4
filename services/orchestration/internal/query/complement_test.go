package query

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestCountsByTheRest counts task runs whose flow runs match a negation, by the ids of the flow runs that it excludes. Some flow runs
// were deleted.
func TestCountsByTheRest(t *testing.T) {
	t.Parallel()
	const runs, tasks = 2500, 1700
	db, ws, ctx := database(t), uuid.New(), t.Context()
	runOf := tasksOfRuns(t, db, ws, runs, tasks)
	flowRuns := db.Collection(string(FlowRun))
	inWindow := func(from, to int64) bson.D {
		return Scope(ws, bson.D{{Key: "sort_start", Value: bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: to}}}})
	}
	_, err := flowRuns.DeleteMany(ctx, inWindow(100, 200))
	require.NoError(t, err)
	_, err = flowRuns.UpdateMany(ctx, inWindow(300, 1000), bson.D{{Key: "$set", Value: bson.D{{Key: "work_queue_name", Value: "a"}, {Key: "created_by", Value: bson.D{{Key: "id", Value: "x"}}}}}})
	require.NoError(t, err)
	deleted := func(run int) bool { return run >= 100 && run < 200 }
	queued := func(run int) bool { return run >= 300 && run < 1000 }
	for name, c := range map[string]struct {
		in    node
		holds func(run int) bool
	}{
		"none of some":  {criterion("sort_start", "$nin", bson.A{int64(8), int64(150), int64(2400), nil}), func(run int) bool { return run != 8 && run != 2400 }},
		"not one":       {criterion("sort_start", "$ne", int64(8)), func(run int) bool { return run != 8 }},
		"absent":        {criterion("work_queue_name", "$eq", nil), func(run int) bool { return !queued(run) }},
		"present":       {criterion("work_queue_name", "$ne", nil), queued},
		"without a map": {criterion("created_by", "$exists", false), func(run int) bool { return !queued(run) }},
		"with a map":    {criterion("created_by", "$exists", true), queued},
	} {
		for _, not := range []bool{false, true} {
			var want int64
			for i := range tasks {
				if run, ok := runOf(i); (ok && !deleted(run) && c.holds(run)) != not {
					want++
				}
			}
			for _, r := range []Resolver{{}, {MaxIDs: 250}} {
				r.Reader = NewReader(db)
				s, err := r.Select(ctx, ws, Plan{own: TaskRun, root: exists{rel: taskFlowRun, in: c.in, not: not}})
				require.NoError(t, err)
				n, err := s.Count(ctx)
				require.NoError(t, err)
				require.Equal(t, want, n, "%s, not: %v", name, not)
			}
		}
	}
}

func TestComplement(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	for _, c := range []struct {
		filter, rest node
	}{
		{criterion("state.name", "$nin", bson.A{"Failed", nil}), criterion("state.name", "$in", bson.A{"Failed", nil})},
		{criterion("end_time", "$ne", nil), criterion("end_time", "$eq", nil)},
		{criterion("created_by", "$exists", false), criterion("created_by", "$exists", true)},
		{criterion("parent_task_run_id", "$eq", nil), criterion("parent_task_run_id", "$ne", nil)},
		{criterion("end_time", "$eq", nil), nil},
		{criterion("created_by", "$exists", true), nil},
		{criterion("name", "$in", bson.A{"a"}), nil},
		{and(criterion("name", "$ne", nil), criterion("end_time", "$ne", nil)), nil},
		{always{}, nil},
	} {
		filter, err := toBSON(c.filter)
		require.NoError(t, err)
		rest, ok := complement(FlowRun, Scope(ws, filter))
		require.Equal(t, c.rest != nil, ok, "%v", filter)
		if ok {
			want, err := toBSON(c.rest)
			require.NoError(t, err)
			require.Equal(t, Scope(ws, want), rest)
		}
	}
}
