package workpools

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// commands counts the commands of a store by name.
type commands struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *commands) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	c.counts = map[string]int{}
	return counts
}

// counting is a world whose commands are counted.
func counting(t *testing.T) (*world, *commands) {
	t.Helper()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	counted := &commands{counts: map[string]int{}}
	w := &world{TB: t, clock: clock.NewManual(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)), ws: uuid.New()}
	s, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: w.clock, IDs: id.System(),
		Client: func(o *options.ClientOptions) {
			o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				counted.mu.Lock()
				defer counted.mu.Unlock()
				counted.counts[e.CommandName]++
			}})
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
	w.store = s
	w.service = New(NewPools(PoolsDeps{
		Store: s, Vocabulary: vocabulary.Orch, Log: slog.New(slog.DiscardHandler), Limits: concurrency.NewLimits(s, vocabulary.Orch, nil),
		Block: func(context.Context, uuid.UUID, uuid.UUID) (json.RawMessage, bool, error) { return nil, false, nil },
	}), idle{})
	w.ctx = requesttest.Incoming(t, w.ws)
	return w, counted
}

// queuesOfPool stores queues of a pool.
func (w *world) queuesOfPool(pool *orchv1.WorkPool, n int) []*orchv1.WorkQueue {
	w.Helper()
	all := make([]*orchv1.WorkQueue, n)
	for i := range all {
		all[i] = &orchv1.WorkQueue{
			Id: w.store.NewID().String(), Name: fmt.Sprintf("q%04d", i), WorkPoolId: new(pool.GetId()),
			Status: orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_NOT_READY.Enum(),
		}
	}
	taken, err := store.InsertAll(w.ctx, w.service.queues, w.ws, all)
	require.NoError(w, err)
	require.Empty(w, taken)
	return all
}

// TestAPollOfManyQueuesCountsTheirRunsTogether polls one of a thousand queues of a pool with a limit.
func TestAPollOfManyQueuesCountsTheirRunsTogether(t *testing.T) {
	t.Parallel()
	w, counted := counting(t)
	pool := w.pool("p")
	_, err := w.service.UpdateWorkPool(w.ctx, &orchv1.UpdateWorkPoolRequest{
		Name: "p", WorkPool: &orchv1.WorkPoolUpdate{ConcurrencyLimit: new(int64(5))}, UpdateMask: mask("concurrency_limit"),
	})
	require.NoError(t, err)
	queues := w.queuesOfPool(pool, 1000)
	var runs []*orchv1.FlowRun
	for i, state := range []orchv1.StateType{
		orchv1.StateType_STATE_TYPE_RUNNING, orchv1.StateType_STATE_TYPE_PENDING, orchv1.StateType_STATE_TYPE_RUNNING, orchv1.StateType_STATE_TYPE_COMPLETED,
	} {
		runs = append(runs, &orchv1.FlowRun{
			Id: uuid.NewString(), Name: fmt.Sprint(i), FlowId: uuid.NewString(), WorkQueueId: new(queues[i*300].GetId()), State: &orchv1.State{Type: state},
		})
	}
	_, err = store.InsertAll(w.ctx, w.service.runs, w.ws, runs)
	require.NoError(t, err)
	w.waiting(queues[7], 10)

	counted.take()
	list, err := w.service.GetScheduledFlowRuns(w.ctx, &orchv1.GetScheduledFlowRunsRequest{Name: "p", Query: &orchv1.ScheduledFlowRunQuery{WorkQueueNames: []string{"q0007"}}})
	require.NoError(t, err)
	require.Len(t, list.GetFlowRuns(), 2, "three of the pool's five slots are taken")
	all := counted.take()
	require.Equal(t, 1, all["count"], "the due runs of the queue")
	require.Equal(t, 1, all["aggregate"])
}

// TestDeletingAPoolOfManyQueues: the document of the pool does not grow with its queues, and each queue publishes its own event.
func TestDeletingAPoolOfManyQueues(t *testing.T) {
	t.Parallel()
	w, _ := counting(t)
	pool := w.pool("p")
	queues := append(w.queuesOfPool(pool, 1000), &orchv1.WorkQueue{Id: pool.GetDefaultQueueId()})
	_, err := w.service.DeleteWorkPool(w.ctx, &orchv1.DeleteWorkPoolRequest{Name: "p"})
	require.NoError(t, err)
	effects, err := w.store.Pending(w.ctx, query.WorkPool, store.DocumentKey{ID: uuid.MustParse(pool.GetId())})
	require.NoError(t, err)
	require.LessOrEqual(t, len(effects), 8)
	dissolve := effects[len(effects)-2]
	require.Equal(t, kindDissolve, dissolve.Kind)

	handlers := w.service.Handlers()
	handler := handlers[slices.IndexFunc(handlers, func(h outbox.Handler) bool { return h.Kind == kindDissolve })]
	for range 2 { // The second one is a repetition.
		require.NoError(t, handler.Run(w.ctx, []store.Effect{dissolve}))
	}
	n, err := w.service.queues.Count(w.ctx, w.ws, store.Query{})
	require.NoError(t, err)
	require.Zero(t, n)
	for _, queue := range []*orchv1.WorkQueue{queues[0], queues[999], queues[1000]} {
		names := w.eventNames(query.WorkQueue, queue.GetId())
		require.Equal(t, "orch.work-queue.deleted", names[len(names)-1])
	}
}

// TestARenameContinues: a rename of a queue with many runs writes them in batches. An attempt that ends early leaves fewer to the next.
func TestARenameContinues(t *testing.T) {
	t.Parallel()
	w, counted := counting(t)
	queue := w.queuesOfPool(w.pool("p"), 1)[0]
	const n = 1250
	runs := make([]*orchv1.FlowRun, n)
	for i := range runs {
		runs[i] = &orchv1.FlowRun{Id: uuid.NewString(), Name: fmt.Sprint(i), FlowId: uuid.NewString(), WorkQueueId: new(queue.GetId()), WorkQueueName: new("old")}
	}
	for some := range slices.Chunk(runs, 250) {
		_, err := store.InsertAll(w.ctx, w.service.runs, w.ws, some)
		require.NoError(t, err)
	}
	renamed := func() int64 {
		done, err := w.service.runs.Count(w.ctx, w.ws, store.Query{Filter: bson.D{{Key: "work_queue_name", Value: queue.GetName()}}})
		require.NoError(t, err)
		return done
	}
	rename := func(ctx context.Context) error {
		return w.service.renameRuns(ctx, []store.Effect{w.store.ResourceEffect(kindRename, w.ws, uuid.MustParse(queue.GetId()))})
	}
	counted.take()
	require.NoError(t, rename(w.ctx))
	require.EqualValues(t, n, renamed())
	require.Equal(t, 3, counted.take()["update"], "batches of the runs; there are no deployments")
	require.NoError(t, rename(w.ctx))
	require.Zero(t, counted.take()["update"], "nothing is written twice")
}

// TestAPollOfALongQueueSendsFewCommands shows that the number of commands does not grow with the number of deployments.
func TestAPollOfALongQueueSendsFewCommands(t *testing.T) {
	t.Parallel()
	w, counted := counting(t)
	w.pool("p")
	queue := w.queue("p", "q", 1)
	for range 20 {
		w.due(queue, w.deployment(0, 0), "free", 10, time.Hour, 0)
	}
	poll := func() map[string]int {
		polled, err := w.pollBefore("p", w.clock.Now(), 20)
		require.NoError(t, err)
		require.Len(t, polled, 20)
		return counted.take()
	}
	poll() // Records the poll of the queue.
	require.Equal(t, map[string]int{
		"count":     1,            // Whether there are many due runs: the distinct deployments of these are read then.
		"aggregate": 1, "find": 5, // The pool, its queues, limited deployments, a weight, and the runs.
	}, poll())
}
