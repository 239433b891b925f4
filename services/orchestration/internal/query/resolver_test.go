package query

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// numbered returns a deterministic id.
func numbered(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
}

// flowsWithRuns inserts n flows; flow i has i%3 runs, one of them with a completed task run if i is even.
func flowsWithRuns(t *testing.T, db *mongo.Database, ws uuid.UUID, n int) {
	t.Helper()
	insert := func(c Collection, id int, more ...bson.E) {
		doc := append(envelope(ws, false), bson.E{Key: "_id", Value: binary(numbered(id))})
		_, err := db.Collection(string(c)).InsertOne(t.Context(), append(doc, more...))
		require.NoError(t, err)
	}
	for i := range n {
		insert(Flow, i, bson.E{Key: "name", Value: fmt.Sprintf("flow-%03d", i)})
		for k := range i % 3 {
			run := 1000*(k+1) + i
			insert(FlowRun, run, bson.E{Key: "flow_id", Value: binary(numbered(i))}, bson.E{Key: "name", Value: "run"})
			if k == 0 && i%2 == 0 {
				insert(TaskRun, run, bson.E{Key: "flow_run_id", Value: binary(numbered(run))}, bson.E{Key: "flow_id", Value: binary(numbered(i))},
					bson.E{Key: "state", Value: bson.D{{Key: "type", Value: "COMPLETED"}}})
			}
		}
	}
}

func TestBroadFiltersAreProbed(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	flowsWithRuns(t, db, ws, 60)
	byRuns := parse(t, &orchv1.FlowQuery{}, `{"flow_runs": {"name": {"any_": ["run"]}}}`)
	byTasks := parse(t, &orchv1.FlowQuery{}, `{"flow_runs": {}, "task_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}`)
	direct := parse(t, &orchv1.FlowQuery{}, `{"task_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}`)
	sort, err := Sort(orchv1.FlowSort_FLOW_SORT_NAME_ASC)
	require.NoError(t, err)
	for _, c := range []struct {
		name  string
		query proto.Message
		r     Resolver
		whole bool // The filter alone selects the documents.
		want  []string
	}{
		{"few ids", byRuns, Resolver{}, true, []string{"flow-004", "flow-005", "flow-007"}},
		{"exactly as many runs as allowed", byRuns, Resolver{MaxIDs: 60}, true, []string{"flow-004", "flow-005", "flow-007"}},
		{"one run too many", byRuns, Resolver{MaxIDs: 59}, false, []string{"flow-004", "flow-005", "flow-007"}},
		{"small batches", byRuns, Resolver{MaxIDs: 1, Batch: 2}, false, []string{"flow-004", "flow-005", "flow-007"}},
		{"two steps", byTasks, Resolver{}, true, []string{"flow-008", "flow-010", "flow-014"}},
		{"one step, as task runs refer to flows", direct, Resolver{MaxIDs: 20}, true, []string{"flow-008", "flow-010", "flow-014"}},
		{"two steps, probed", byTasks, Resolver{MaxIDs: 3, Batch: 4}, false, []string{"flow-008", "flow-010", "flow-014"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.Reader = NewReader(db)
			p, err := NewPlan(Flow, c.query)
			require.NoError(t, err)
			s, err := c.r.Select(ctx, ws, p)
			require.NoError(t, err)
			_, whole := s.Filter()
			require.Equal(t, c.whole, whole)
			page, err := s.Page(ctx, sort, 2, 3)
			require.NoError(t, err)
			var names []string
			for _, doc := range page {
				names = append(names, doc.Lookup("name").StringValue())
			}
			require.Equal(t, c.want, names)
			n, err := s.Count(ctx)
			require.NoError(t, err)
			require.EqualValues(t, map[proto.Message]int{byRuns: 40, byTasks: 20, direct: 20}[c.query], n)
		})
	}
}

// TestProbesOfOneField checks that two probes of the same field project it once: a projection must not name a path
// twice.
func TestProbesOfOneField(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	flowsWithRuns(t, db, ws, 30)
	for i := range 30 {
		doc := append(envelope(ws, false), bson.E{Key: "_id", Value: binary(numbered(9000 + i))}, bson.E{Key: "flow_id", Value: binary(numbered(i))})
		_, err := db.Collection(string(Deployment)).InsertOne(ctx, doc)
		require.NoError(t, err)
	}
	both := parse(t, &orchv1.FlowQuery{}, `{"flow_runs": {"name": {"any_": ["run"]}}, "deployments": {}}`)
	nested := parse(t, &orchv1.FlowQuery{}, `{"flow_runs": {}, "task_runs": {}}`)
	for name, c := range map[string]struct {
		query proto.Message
		want  int
	}{"two relations by _id": {both, 20}, "a probe within a probe": {nested, 10}} {
		t.Run(name, func(t *testing.T) {
			p, err := NewPlan(Flow, c.query)
			require.NoError(t, err)
			s, err := Resolver{Reader: NewReader(db), MaxIDs: 1, Batch: 7}.Select(ctx, ws, p)
			require.NoError(t, err)
			_, whole := s.Filter()
			require.False(t, whole, name)
			n, err := s.Count(ctx)
			require.NoError(t, err, name)
			require.EqualValues(t, c.want, n, name)
			var ids int
			require.NoError(t, s.Aggregate(ctx, nil, []bson.D{{{Key: "$project", Value: bson.D{{Key: "_id", Value: 1}}}}}, func(bson.Raw) error {
				ids++
				return nil
			}), name)
			require.Equal(t, c.want, ids, name)
		})
	}
}

func TestTooBroadIsRefused(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	flowsWithRuns(t, db, ws, 30)
	p, err := NewPlan(Flow, parse(t, &orchv1.FlowQuery{}, `{"flow_runs": {}}`))
	require.NoError(t, err)
	s, err := Resolver{Reader: NewReader(db), MaxIDs: 1, MaxPaged: 10, MaxCounted: 10, Batch: 3}.Select(ctx, ws, p)
	require.NoError(t, err)
	page, err := s.Page(ctx, bson.D{{Key: "name", Value: 1}}, 0, 2)
	require.NoError(t, err, "a page that fills up in time is an answer")
	require.Len(t, page, 2)
	page, err = s.Page(ctx, bson.D{{Key: "name", Value: 1}}, 0, 20)
	require.ErrorIs(t, err, ErrTooBroad)
	require.Nil(t, page, "never a part of the truth")
	_, err = s.Count(ctx)
	require.ErrorIs(t, err, ErrTooBroad)

	p, err = NewPlan(Deployment, parse(t, &orchv1.FlowRunQuery{}, `{"deployments": {"flow_or_deployment_name": {"like_": "flow"}}}`))
	require.NoError(t, err)
	_, err = Resolver{Reader: NewReader(db), MaxIDs: 5}.Select(ctx, ws, p)
	require.ErrorIs(t, err, ErrTooBroad)
}

func TestPlanOf(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	flowsWithRuns(t, db, ws, 3)
	p, err := PlanOf(Flow, parse(t, &orchv1.FlowFilter{}, `{"name": {"like_": "FLOW-00"}, "deployment": {"is_null_": true}}`))
	require.NoError(t, err)
	s, err := Resolver{Reader: NewReader(db)}.Select(ctx, ws, p)
	require.NoError(t, err)
	n, err := s.Count(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)

	s, err = Resolver{Reader: NewReader(db)}.Select(ctx, uuid.New(), Plan{own: Flow})
	require.NoError(t, err)
	n, err = s.Count(ctx)
	require.NoError(t, err)
	require.Zero(t, n, "another workspace is empty")
}

func TestCancelledReadsEnd(t *testing.T) {
	t.Parallel()
	db := database(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Resolver{Reader: NewReader(db)}.Select(ctx, uuid.New(), Plan{own: Flow})
	require.NoError(t, err)
	cancel()
	_, err = s.Page(ctx, nil, 0, 0)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Count(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// TestIndexesCanBeMade creates every index, so no store refuses a key or an option.
func TestIndexesCanBeMade(t *testing.T) {
	t.Parallel()
	makeIndexes(t, database(t), true)
}
