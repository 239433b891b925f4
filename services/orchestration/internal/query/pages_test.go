package query

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// readCounts is a Reader that counts the documents that it streams, by collection.
type readCounts struct {
	Reader

	mu       sync.Mutex
	streamed map[Collection]int
}

func countReads(r Reader) *readCounts {
	return &readCounts{Reader: r, streamed: map[Collection]int{}}
}

func (r *readCounts) Stream(ctx context.Context, c Collection, filter bson.D, o StreamOptions) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range r.Reader.Stream(ctx, c, filter, o) {
			r.mu.Lock()
			r.streamed[c]++
			r.mu.Unlock()
			if !yield(doc, err) {
				return
			}
		}
	}
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
// by ids of the far side, and by probes.
func TestPagesOfAnyShare(t *testing.T) {
	t.Parallel()
	const runs, tasks = 2500, 1700
	db, ws, ctx := database(t), uuid.New(), t.Context()
	runOf := tasksOfRuns(t, db, ws, runs, tasks)
	for _, c := range []struct {
		from, to int64 // Of the runs.
	}{{0, runs}, {0, runs / 2}, {400, 700}, {1000, 2400}, {2490, runs}, {runs, runs}} {
		t.Run(fmt.Sprint(c.from), func(t *testing.T) {
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
						t.Run(fmt.Sprint(page.skip), func(t *testing.T) {
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
						})
					}
					n, err := s.Count(ctx)
					require.NoError(t, err)
					require.EqualValues(t, len(want), n)
				}
			}
		})
	}
}

// TestPagesReadTheirShare checks that a page of what most documents match reads one batch, and that ids of the far side replace probes
// where they are few.
func TestPagesReadTheirShare(t *testing.T) {
	t.Parallel()
	const runs, tasks = 2500, 1700
	db, ws, ctx := database(t), uuid.New(), t.Context()
	tasksOfRuns(t, db, ws, runs, tasks)
	for _, x := range []struct {
		name  string
		from  int64 // Of the runs.
		whole bool
		most  int // Documents that the page reads.
	}{
		{"most documents match", 0, false, firstBatch},
		{"few documents match", 2200, true, 50},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			r := countReads(NewReader(db))
			s, err := Resolver{Reader: r, MaxIDs: 300}.Select(ctx, ws, Plan{own: TaskRun, root: exists{rel: taskFlowRun, in: criterion("sort_start", "$gte", x.from)}})
			require.NoError(t, err)
			_, whole := s.Filter()
			require.Equal(t, x.whole, whole)
			page, err := s.Page(ctx, bson.D{{Key: "_id", Value: 1}}, 0, 50)
			require.NoError(t, err)
			require.Len(t, page, 50)
			require.LessOrEqual(t, r.streamed[TaskRun], x.most)
		})
	}
}

// TestFirstMatchesOfManyReferences checks that a probe of flows reads one run of each, however many a flow has.
func TestFirstMatchesOfManyReferences(t *testing.T) {
	t.Parallel()
	const flows, runs = 30, 900
	db, ws, ctx := database(t), uuid.New(), t.Context()
	makeIndexes(t, db, false)
	docs := map[Collection][]any{}
	for i := range flows {
		docs[Flow] = append(docs[Flow], append(envelope(ws, false), bson.E{Key: "_id", Value: binary(numbered(i))}))
	}
	for i := range runs { // Half of the flows have runs.
		docs[FlowRun] = append(docs[FlowRun], append(envelope(ws, false),
			bson.E{Key: "_id", Value: binary(numbered(i))}, bson.E{Key: "flow_id", Value: binary(numbered(i % (flows / 2)))}))
	}
	for c, list := range docs {
		_, err := db.Collection(string(c)).InsertMany(ctx, list)
		require.NoError(t, err)
	}
	for _, not := range []bool{false, true} {
		r := countReads(NewReader(db))
		s, err := Resolver{Reader: r, MaxIDs: 100}.Select(ctx, ws, Plan{own: Flow, root: exists{rel: flowRuns, in: matchAll{}, not: not}})
		require.NoError(t, err)
		n, err := s.Count(ctx)
		require.NoError(t, err)
		require.EqualValues(t, flows/2, n)
		require.Equal(t, flows/2, r.streamed[FlowRun], "one run of each flow that has any")
	}
}
