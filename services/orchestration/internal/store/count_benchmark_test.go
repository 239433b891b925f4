package store_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// BenchmarkCounts compares a count of runs with the command count of the same filter, after all past hours are counted. ORCH_BENCH_RUNS is the number of runs, which
// are spread over 30 days. make bench-counts runs it on both servers.
func BenchmarkCounts(b *testing.B) {
	runs := 10_000
	if text := os.Getenv("ORCH_BENCH_RUNS"); text != "" {
		var err error
		runs, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	const days = 30
	w := newTotalled(b)
	c, ws, now := store.NewCollection(w.Store, query.FlowRun, &orchv1.FlowRun{}), uuid.New(), w.Now()
	for first := 0; first < runs; first += 1000 {
		var batch []*orchv1.FlowRun
		for i := first; i < min(first+1000, runs); i++ {
			batch = append(batch, aged(i, now.Add(-time.Duration(i+1)*days*24*time.Hour/time.Duration(runs))))
		}
		_, err := store.InsertAll(b.Context(), c, ws, batch)
		require.NoError(b, err)
	}
	for w.count(b) > 0 { // A pass has a time limit.
	}
	types := bson.E{Key: "state.type", Value: bson.D{{Key: "$in", Value: bson.A{"PENDING", "COMPLETED"}}}}
	week := bson.E{Key: "expected_start_time", Value: bson.D{{Key: "$gte", Value: now.Add(-7 * 24 * time.Hour).UnixMicro()}, {Key: "$lte", Value: now.UnixMicro()}}}
	for name, filter := range map[string]bson.D{"all": {}, "types": {types}, "types of a week": {types, week}, "a week": {week}} {
		var want struct{ N int64 }
		var command time.Duration
		b.Run(name+"/command", func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, w.database.Connect().RunCommand(b.Context(), bson.D{
					{Key: "count", Value: string(query.FlowRun)},
					{Key: "query", Value: query.Scope(ws, filter)},
					{Key: "readConcern", Value: bson.D{{Key: "level", Value: "majority"}}},
				}).Decode(&want))
			}
			command = b.Elapsed() / time.Duration(b.N)
		})
		b.Run(name+"/store", func(b *testing.B) {
			for b.Loop() {
				n, err := c.Count(b.Context(), ws, store.Query{Filter: filter})
				require.NoError(b, err)
				require.Equal(b, want.N, n)
			}
			b.ReportMetric(float64(command)/float64(b.Elapsed()/time.Duration(b.N)), "times-as-fast")
		})
	}
}

// aged is a run of a time; of a hundred runs, one is pending and three have failed.
func aged(number int, expected time.Time) *orchv1.FlowRun {
	state := &orchv1.State{Id: uuid.NewString(), Type: orchv1.StateType_STATE_TYPE_COMPLETED, Name: new("Completed"), Timestamp: timestamppb.New(expected)}
	switch number % 100 {
	case 0:
		state.Type, state.Name = orchv1.StateType_STATE_TYPE_PENDING, new("Pending")
	case 1, 2, 3:
		state.Type, state.Name = orchv1.StateType_STATE_TYPE_FAILED, new("Failed")
	}
	return &orchv1.FlowRun{
		Id: uuid.NewString(), FlowId: uuid.NewString(), Name: "run-" + strconv.Itoa(number), State: state,
		ExpectedStartTime: timestamppb.New(expected), SortStart: timestamppb.New(expected), StartTime: timestamppb.New(expected),
		TotalRunTime: 1.5,
	}
}
