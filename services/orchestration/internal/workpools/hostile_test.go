package workpools

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func (w *world) queue(pool, name string, priority int64) *orchv1.WorkQueue {
	w.Helper()
	queue, err := w.service.CreateWorkPoolQueue(w.ctx, &orchv1.CreateWorkPoolQueueRequest{
		WorkPoolName: pool, WorkQueue: &orchv1.WorkQueueCreate{Name: name, Priority: &priority},
	})
	require.NoError(w, err)
	return queue
}

// waiting stores scheduled runs of a queue, named after it.
func (w *world) waiting(queue *orchv1.WorkQueue, n int) {
	w.Helper()
	w.waitingAs(queue, queue.GetName(), n)
}

// waitingAs stores scheduled runs of a queue, one second apart from now on.
func (w *world) waitingAs(queue *orchv1.WorkQueue, name string, n int) {
	w.Helper()
	var runs []*orchv1.FlowRun
	for i := range n {
		at := timestamppb.New(w.clock.Now().Add(time.Duration(i) * time.Second))
		runs = append(runs, &orchv1.FlowRun{
			Id: w.store.NewID().String(), Name: fmt.Sprintf("%s-%d", name, i), FlowId: uuid.NewString(), WorkQueueId: new(queue.GetId()),
			NextScheduledStartTime: at, ExpectedStartTime: at,
			State: &orchv1.State{Id: w.store.NewID().String(), Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Timestamp: at},
		})
	}
	w.insert(runs)
}

func (w *world) insert(runs []*orchv1.FlowRun) {
	w.Helper()
	for _, run := range runs {
		if run.Rank == nil {
			rules.RankRun(run)
		}
		if w.earlier {
			run.Rank = nil
		}
	}
	taken, err := store.InsertAll(w.ctx, w.service.runs, w.ws, runs)
	require.NoError(w, err)
	require.Empty(w, taken)
}

// acceptable reports whether a call succeeded, or failed in a way that the caller can understand.
func acceptable(err error) bool {
	status := rpc.HTTPError(err).GetStatus()
	return err == nil || status == http.StatusNotFound || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrContention)
}

// A pool is deleted and created anew while workers poll and send heartbeats: they get runs, none, or a 404.
func TestAPoolIsDeletedWhileWorkersPoll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool("p")
	w.waiting(w.queue("p", "q", 1), 20)
	deleted := make(chan struct{})
	failures := make([]error, 8)
	var group sync.WaitGroup
	for i := range failures {
		group.Go(func() {
			for n := 0; ; n++ {
				_, err := w.service.GetScheduledFlowRuns(w.ctx, &orchv1.GetScheduledFlowRunsRequest{Name: "p"})
				_, beat := w.service.WorkerHeartbeat(w.ctx, &orchv1.WorkerHeartbeatRequest{
					WorkPoolName: "p", Heartbeat: &orchv1.Heartbeat{Name: fmt.Sprintf("w%d", i)},
				})
				for _, err := range []error{err, beat} {
					if !acceptable(err) {
						failures[i] = err
						return
					}
				}
				select {
				case <-deleted:
					return
				default:
				}
			}
		})
	}
	for range 3 {
		_, err := w.service.DeleteWorkPool(w.ctx, &orchv1.DeleteWorkPoolRequest{Name: "p"})
		require.NoError(t, err)
		_, err = w.service.GetScheduledFlowRuns(w.ctx, &orchv1.GetScheduledFlowRunsRequest{Name: "p"})
		require.EqualValues(t, http.StatusNotFound, rpc.HTTPError(err).GetStatus())
		w.pool("p")
	}
	close(deleted)
	group.Wait()
	require.NoError(t, errors.Join(failures...))
	polled, err := w.service.GetScheduledFlowRuns(w.ctx, &orchv1.GetScheduledFlowRunsRequest{Name: "p"})
	require.NoError(t, err)
	require.Empty(t, polled.GetFlowRuns(), "the runs were of another pool")
}

// Queues swap their priorities while workers poll: every poll has each run once, and the runs of a queue together.
func TestAQueueIsMovedWhileRunsAreRanked(t *testing.T) {
	t.Parallel()
	const runs = 10
	w := newWorld(t)
	w.pool("p")
	names := []string{"a", "b", "c"}
	for i, name := range names {
		w.waiting(w.queue("p", name, int64(i+2)), runs)
	}
	moved := make(chan struct{})
	failures := make([]error, 4)
	var group sync.WaitGroup
	for i := range failures {
		group.Go(func() {
			for {
				polled, err := w.service.GetScheduledFlowRuns(w.ctx, &orchv1.GetScheduledFlowRunsRequest{
					Name: "p", Query: &orchv1.ScheduledFlowRunQuery{WorkQueueNames: names},
				})
				if failures[i] = errors.Join(err, together(polled.GetFlowRuns(), len(names), runs)); failures[i] != nil {
					return
				}
				select {
				case <-moved:
					return
				default:
				}
			}
		})
	}
	for i := range 20 {
		update := &orchv1.WorkQueueUpdate{Priority: new(int64(1 + i%4))}
		_, err := w.service.UpdateWorkPoolQueue(w.ctx, &orchv1.UpdateWorkPoolQueueRequest{
			WorkPoolName: "p", Name: names[i%len(names)], WorkQueue: update, UpdateMask: mask("priority"),
		})
		require.NoError(t, err)
	}
	close(moved)
	group.Wait()
	require.NoError(t, errors.Join(failures...))
}

// together checks that ranked runs are complete, each once, and those of a queue in order and next to each other.
func together(ranked []*orchv1.WorkerFlowRunResponse, queues, runs int) error {
	if len(ranked) != queues*runs {
		return fmt.Errorf("%d runs instead of %d", len(ranked), queues*runs)
	}
	for i, one := range ranked {
		first := ranked[i/runs*runs]
		if one.GetWorkQueueId() != first.GetWorkQueueId() {
			return fmt.Errorf("run %d is of another queue than those beside it", i)
		}
		if i%runs > 0 && !one.GetFlowRun().GetNextScheduledStartTime().AsTime().After(ranked[i-1].GetFlowRun().GetNextScheduledStartTime().AsTime()) {
			return fmt.Errorf("run %d is out of order", i)
		}
	}
	return nil
}

// A client that invents a name for each heartbeat cannot make the server keep more workers than a pool may have.
func TestAPoolOfOnlineWorkersRefusesAnotherName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(w.pool("p"), orchv1.WorkerStatus_WORKER_STATUS_ONLINE)
	beat := func(name string) error {
		_, err := w.service.WorkerHeartbeat(w.ctx, &orchv1.WorkerHeartbeatRequest{WorkPoolName: "p", Heartbeat: &orchv1.Heartbeat{Name: name}})
		return err
	}
	require.EqualValues(t, http.StatusUnprocessableEntity, rpc.HTTPError(beat("another")).GetStatus())
	require.NoError(t, beat("w7"), "a known one is alive")
	n, err := w.service.workers.Count(w.ctx, w.ws, store.Query{})
	require.NoError(t, err)
	require.EqualValues(t, maxWorkers, n)
}
