package workpools

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func mask(fields ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: fields} }

// TestQueuesAreRankedConcurrently creates queues of one priority at once: each gets a priority of its own.
func TestQueuesAreRankedConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool("p")
	const n = 8
	var creating sync.WaitGroup
	failures := make([]error, n)
	for i := range n {
		creating.Go(func() {
			_, failures[i] = w.service.CreateWorkPoolQueue(w.ctx, &orchv1.CreateWorkPoolQueueRequest{
				WorkPoolName: "p", WorkQueue: &orchv1.WorkQueueCreate{Name: fmt.Sprintf("q%d", i), Priority: new(int64(1))},
			})
		})
	}
	creating.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
	list, err := w.service.ReadWorkPoolQueues(w.ctx, &orchv1.ReadWorkPoolQueuesRequest{WorkPoolName: "p"})
	require.NoError(t, err)
	require.Len(t, list.GetWorkQueues(), n+1)
	for i, queue := range list.GetWorkQueues() {
		require.Equal(t, int64(i+1), queue.GetPriority())
	}
}

func TestQueuesOfTheOlderAPIHaveADescription(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	queue, err := w.service.CreateWorkQueue(w.ctx, &orchv1.CreateWorkQueueRequest{WorkQueue: &orchv1.WorkQueueCreate{Name: "q"}})
	require.NoError(t, err)
	require.NotNil(t, queue.Description)
	require.Empty(t, queue.GetDescription())
}

// fill stores as many workers of a pool as it may have.
func (w *world) fill(pool *orchv1.WorkPool, status orchv1.WorkerStatus) {
	w.Helper()
	var workers []*orchv1.Worker
	for i := range maxWorkers {
		workers = append(workers, &orchv1.Worker{Id: w.store.NewID().String(), Name: fmt.Sprintf("w%d", i), WorkPoolId: pool.GetId(), Status: status})
	}
	for chunk := range slices.Chunk(workers, 500) {
		taken, err := store.InsertAll(w.ctx, w.service.workers, w.ws, chunk)
		require.NoError(w, err)
		require.Empty(w, taken)
	}
}

// TestOldWorkersMakeRoom lets a worker come to a pool that has as many as it may have.
func TestOldWorkersMakeRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(w.pool("p"), orchv1.WorkerStatus_WORKER_STATUS_OFFLINE)
	_, err := w.service.WorkerHeartbeat(w.ctx, &orchv1.WorkerHeartbeatRequest{WorkPoolName: "p", Heartbeat: &orchv1.Heartbeat{Name: "new"}})
	require.NoError(t, err)
	n, err := w.service.workers.Count(w.ctx, w.ws, store.Query{})
	require.NoError(t, err)
	require.Equal(t, int64(maxWorkers), n)
}
