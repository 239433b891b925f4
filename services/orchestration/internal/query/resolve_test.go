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

//nolint:tparallel // The parts share one fixture and follow each other.
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
		{"exactly as many ids as allowed", byRuns, Resolver{MaxIDs: 40}, true, []string{"flow-004", "flow-005", "flow-007"}},
		{"one id too many", byRuns, Resolver{MaxIDs: 39}, false, []string{"flow-004", "flow-005", "flow-007"}},
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

// TestFewReferencesAreLookedUp checks that few ids to which the near side refers are looked up, rather than all of the far side gathered.
func TestFewReferencesAreLookedUp(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	var runs []any
	for i := range fewIDs + 100 {
		runs = append(runs, append(envelope(ws, false), bson.E{Key: "_id", Value: binary(numbered(i))}, bson.E{Key: "name", Value: fmt.Sprintf("run-%d", i%2)}))
	}
	_, err := db.Collection(string(FlowRun)).InsertMany(ctx, runs)
	require.NoError(t, err)
	for i := range 4 {
		_, err := db.Collection(string(ArtifactLatest)).InsertOne(ctx, append(envelope(ws, false),
			bson.E{Key: "_id", Value: binary(numbered(i))}, bson.E{Key: "flow_run_id", Value: binary(numbered(10 + i))}))
		require.NoError(t, err)
	}
	for body, want := range map[string]int64{`{"flow_runs": {}}`: 4, `{"flow_runs": {"name": {"any_": ["run-1"]}}}`: 2} {
		p, err := NewPlan(ArtifactLatest, parse(t, &orchv1.ArtifactCollectionQuery{}, body))
		require.NoError(t, err)
		s, err := Resolver{Reader: NewReader(db)}.Select(ctx, ws, p)
		require.NoError(t, err)
		filter, whole := s.Filter()
		require.True(t, whole, body)
		require.Equal(t, latestRun.local, filter[1].Key)
		require.Len(t, filter[1].Value.(bson.D)[0].Value, int(want), "ids of runs to which no artifact refers")
		n, err := s.Count(ctx)
		require.NoError(t, err)
		require.Equal(t, want, n, body)
	}

	// Below or_ there are only ids.
	all := Plan{own: ArtifactLatest, root: or(criterion("key", "$eq", "absent"), exists{rel: latestRun, in: always{}})}
	s, err := Resolver{Reader: NewReader(db)}.Select(ctx, ws, all)
	require.NoError(t, err)
	_, whole := s.Filter()
	require.True(t, whole)
}

// limitedCounts is a Reader that fails a test at a count without a limit, or with a limit above most.
type limitedCounts struct {
	Reader

	t     *testing.T
	most  int64
	count int
}

func (r *limitedCounts) Count(ctx context.Context, c Collection, filter bson.D, limit int64) (int64, error) {
	r.count++
	require.Positive(r.t, limit, "%s %v", c, filter)
	require.LessOrEqual(r.t, limit, r.most)
	return r.Reader.Count(ctx, c, filter, limit)
}

// TestPagesCountWithALimit checks that a page of a related filter does not walk the whole index of the near side.
func TestPagesCountWithALimit(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	var flows, runs []any
	const near = 1500 // The last of them have runs.
	for i := range near {
		id := bson.E{Key: "_id", Value: binary(numbered(i))}
		flows = append(flows, append(envelope(ws, false), id, bson.E{Key: "name", Value: fmt.Sprintf("flow-%04d", i)}))
		if i < near-lookupIDs/2 {
			continue
		}
		runs = append(runs, append(envelope(ws, false), id, bson.E{Key: "flow_id", Value: binary(numbered(i))}))
	}
	for c, docs := range map[Collection][]any{Flow: flows, FlowRun: runs} {
		_, err := db.Collection(string(c)).InsertMany(ctx, docs)
		require.NoError(t, err)
	}
	p, err := NewPlan(Flow, parse(t, &orchv1.FlowQuery{}, `{"flow_runs": {}}`))
	require.NoError(t, err)
	for _, size := range []int64{1, 200} {
		r := &limitedCounts{Reader: NewReader(db), t: t, most: lookupIDs + 1}
		s, err := Resolver{Reader: r}.Select(ctx, ws, p)
		require.NoError(t, err)
		page, err := s.Page(ctx, bson.D{{Key: "name", Value: 1}}, 0, size)
		require.NoError(t, err)
		require.Len(t, page, int(size))
		require.Positive(t, r.count)
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
	}
}

func TestTooBroadIsRefused(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	flowsWithRuns(t, db, ws, 30)
	p, err := NewPlan(Flow, parse(t, &orchv1.FlowQuery{}, `{"flow_runs": {}}`))
	require.NoError(t, err)
	s, err := Resolver{Reader: NewReader(db), MaxIDs: 1, MaxScanned: 10, Batch: 3}.Select(ctx, ws, p)
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

// TestJoinsAreNeverTooBroad asks a reader that joins what TestTooBroadIsRefused refuses.
func TestJoinsAreNeverTooBroad(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	flowsWithRuns(t, db, ws, 30)
	r := Resolver{Reader: NewJoiningReader(db), MaxIDs: 1, MaxScanned: 10, Batch: 3}
	p, err := NewPlan(Flow, parse(t, &orchv1.FlowQuery{}, `{"flow_runs": {}, "task_runs": {}}`))
	require.NoError(t, err)
	s, err := r.Select(ctx, ws, p)
	require.NoError(t, err)
	_, whole := s.Filter()
	require.False(t, whole)
	sort := bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}
	page, err := s.Page(ctx, sort, 0, 20)
	require.NoError(t, err)
	require.Len(t, page, 10)
	var behind int
	require.NoError(t, s.VisitAfter(ctx, sort, PositionOf(sort, page[5]), 20, func(bson.Raw) error {
		behind++
		return nil
	}))
	require.Equal(t, 4, behind)
	n, err := s.Count(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 10, n)
	var rows int
	require.NoError(t, s.Aggregate(ctx, bson.D{{Key: "name", Value: bson.D{{Key: "$lt", Value: "flow-010"}}}},
		[]bson.D{{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$name"}}}}}, func(bson.Raw) error {
			rows++
			return nil
		}))
	require.Equal(t, 3, rows)

	p, err = NewPlan(Deployment, parse(t, &orchv1.FlowRunQuery{}, `{"deployments": {"flow_or_deployment_name": {"like_": "flow"}}}`))
	require.NoError(t, err)
	s, err = r.Select(ctx, ws, p)
	require.NoError(t, err)
	n, err = s.Count(ctx)
	require.NoError(t, err)
	require.Zero(t, n)
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
	related, err := Resolver{Reader: NewJoiningReader(db)}.Select(ctx, uuid.New(), Plan{own: Flow, root: exists{rel: flowRuns, in: always{}}})
	require.NoError(t, err)
	cancel()
	for _, s := range []*Selection{s, related} {
		_, err = s.Page(ctx, nil, 0, 0)
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Count(ctx)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// TestIndexesCanBeMade creates every index, so no store refuses a key or an option.
func TestIndexesCanBeMade(t *testing.T) {
	t.Parallel()
	makeIndexes(t, database(t), true)
}
