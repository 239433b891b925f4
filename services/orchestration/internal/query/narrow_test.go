package query

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// readCounts is a Reader that counts the documents that it streams, and the calls that gather values, by collection.
type readCounts struct {
	Reader

	streamed, gathered map[Collection]int
}

func countReads(r Reader) *readCounts {
	return &readCounts{Reader: r, streamed: map[Collection]int{}, gathered: map[Collection]int{}}
}

func (r *readCounts) Stream(ctx context.Context, c Collection, filter bson.D, o StreamOptions) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range r.Reader.Stream(ctx, c, filter, o) {
			r.streamed[c]++
			if !yield(doc, err) {
				return
			}
		}
	}
}

func (r *readCounts) Groups(ctx context.Context, c Collection, field string, filter bson.D, limit int) ([]bson.RawValue, error) {
	r.gathered[c]++
	return r.Reader.Groups(ctx, c, field, filter, limit)
}

// tasksOfRuns inserts task runs, each of one of many flow runs. Flow run i has the number i as its start. Every tenth task run has
// no flow run.
func tasksOfRuns(t *testing.T, db *mongo.Database, ws uuid.UUID, runs, tasks int) (runOf func(task int) (run int, ok bool)) {
	t.Helper()
	makeIndexes(t, db, false)
	runOf = func(task int) (int, bool) { return task * 7 % runs, task%10 > 0 }
	for c, n := range map[Collection]int{FlowRun: runs, TaskRun: tasks} {
		docs := make([]any, n)
		for i := range docs {
			doc := append(envelope(ws, false), bson.E{Key: "_id", Value: binary(numbered(i))})
			if c == FlowRun {
				docs[i] = append(doc, bson.E{Key: "sort_start", Value: int64(i)})
				continue
			}
			doc = append(doc, bson.E{Key: "dynamic_key", Value: fmt.Sprint(i)})
			if run, ok := runOf(i); ok {
				doc = append(doc, bson.E{Key: "flow_run_id", Value: binary(numbered(run))})
			}
			docs[i] = doc
		}
		_, err := db.Collection(string(c)).InsertMany(t.Context(), docs)
		require.NoError(t, err)
	}
	return runOf
}

// TestPagesOfAnyShare compares pages of related filters that match all, many, few or none of the documents with a naive evaluation:
// by a sample of the near side, by ids of the far side, by those to which the near side refers, and by probes.
func TestPagesOfAnyShare(t *testing.T) {
	t.Parallel()
	const runs, tasks = 2500, 1700
	db, ws, ctx := database(t), uuid.New(), t.Context()
	runOf := tasksOfRuns(t, db, ws, runs, tasks)
	for _, c := range []struct {
		from, to int64 // Of the runs.
	}{{0, runs}, {0, runs / 2}, {400, 700}, {1000, 2400}, {2490, runs}, {runs, runs}} {
		for _, not := range []bool{false, true} {
			var want []int
			for i := range tasks {
				run, ok := runOf(i)
				if (ok && int64(run) >= c.from && int64(run) < c.to) != not {
					want = append(want, i)
				}
			}
			for _, r := range []Resolver{{}, {MaxIDs: 1200}, {MaxIDs: 10, Batch: 60}} {
				r.Reader = NewReader(db)
				in := and(criterion("sort_start", "$gte", c.from), criterion("sort_start", "$lt", c.to))
				s, err := r.Select(ctx, ws, Plan{own: TaskRun, root: exists{rel: taskFlowRun, in: in, not: not}})
				require.NoError(t, err)
				for _, page := range []struct{ skip, limit int64 }{{0, 20}, {0, 200}, {130, 100}, {3000, 5}} {
					for _, order := range []int{1, -1} {
						ordered := slices.Clone(want)
						if order < 0 {
							slices.Reverse(ordered)
						}
						first := min(int(page.skip), len(ordered))
						ordered = ordered[first:min(first+int(page.limit), len(ordered))]
						docs, err := s.Page(ctx, bson.D{{Key: "_id", Value: order}}, page.skip, page.limit)
						require.NoError(t, err)
						have := make([]int, len(docs))
						for i, doc := range docs {
							_, err := fmt.Sscan(doc.Lookup("dynamic_key").StringValue(), &have[i])
							require.NoError(t, err)
						}
						require.ElementsMatch(t, ordered, have, "%v %v %v", c, not, page)
						require.True(t, slices.Equal(ordered, have), "%v", have)
					}
				}
				n, err := s.Count(ctx)
				require.NoError(t, err)
				require.EqualValues(t, len(want), n)
			}
		}
	}
}

// TestPagesReadTheirShare checks that a page of what most documents match reads few others, and that a page of what few match probes
// no more than a sample.
func TestPagesReadTheirShare(t *testing.T) {
	t.Parallel()
	const runs, tasks = 2500, 1700
	db, ws, ctx := database(t), uuid.New(), t.Context()
	tasksOfRuns(t, db, ws, runs, tasks)
	sort := bson.D{{Key: "_id", Value: 1}}
	for from, most := range map[int64]int{0: 110, 2200: trialSample + 100} {
		r := countReads(NewReader(db))
		in := criterion("sort_start", "$gte", from)
		s, err := Resolver{Reader: r}.Select(ctx, ws, Plan{own: TaskRun, root: exists{rel: taskFlowRun, in: in}})
		require.NoError(t, err)
		_, whole := s.Filter()
		require.False(t, whole)
		page, err := s.Page(ctx, sort, 0, 50)
		require.NoError(t, err)
		require.Len(t, page, 50)
		require.LessOrEqual(t, r.streamed[TaskRun], most, "from %d", from)
	}
}

// TestPagesOfFewAmongManyReferences checks pages of a far side that is too large for its ids. The first match of the near side is further
// than a scan may read.
func TestPagesOfFewAmongManyReferences(t *testing.T) {
	t.Parallel()
	const runs, tasks, from = 2500, 1700, 2200
	db, ws, ctx := database(t), uuid.New(), t.Context()
	runOf := tasksOfRuns(t, db, ws, runs, tasks)
	var want []string
	for i := range tasks {
		if run, ok := runOf(i); ok && run >= from {
			want = append(want, fmt.Sprint(i))
		}
	}
	r := Resolver{Reader: NewReader(db), MaxIDs: 250, MaxScanned: 200}
	require.Greater(t, runs-from, r.MaxIDs)
	s, err := r.Select(ctx, ws, Plan{own: TaskRun, root: exists{rel: taskFlowRun, in: criterion("sort_start", "$gte", int64(from))}})
	require.NoError(t, err)
	for _, page := range []struct{ skip, limit int }{{0, 5}, {60, 10}, {150, 100}, {500, 5}} {
		docs, err := s.Page(ctx, bson.D{{Key: "_id", Value: 1}}, int64(page.skip), int64(page.limit))
		require.NoError(t, err)
		first := min(page.skip, len(want))
		var have []string
		for _, doc := range docs {
			have = append(have, doc.Lookup("dynamic_key").StringValue())
		}
		require.True(t, slices.Equal(want[first:min(first+page.limit, len(want))], have), "%v: %v", page, have)
	}
}

// TestIDsAreGatheredOnce checks that the parts of a read share the ids that replaced a probe.
func TestIDsAreGatheredOnce(t *testing.T) {
	t.Parallel()
	db, ws, ctx := database(t), uuid.New(), t.Context()
	tasksOfRuns(t, db, ws, 900, 1700)
	r := countReads(NewReader(db))
	s, err := Resolver{Reader: r}.Select(ctx, ws, Plan{own: TaskRun, root: exists{rel: taskFlowRun, in: criterion("sort_start", "$lt", int64(600))}})
	require.NoError(t, err)
	visit := func(bson.Raw) error { return nil }
	decided, err := s.VisitEntries(ctx, nil, bson.D{{Key: workspaceKey, Value: 1}, {Key: "name", Value: 1}}, visit)
	require.NoError(t, err)
	require.False(t, decided)
	before := r.gathered[FlowRun]
	require.NoError(t, s.VisitFields(ctx, nil, []string{"name"}, visit))
	require.Equal(t, before, r.gathered[FlowRun])
}
