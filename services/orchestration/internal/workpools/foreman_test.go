package workpools

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

func TestForemanFollowsHeartbeatsAndPolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pool := w.pool("p")
	beat := &orchv1.WorkerHeartbeatRequest{WorkPoolName: "p", Heartbeat: &orchv1.Heartbeat{Name: "w", HeartbeatIntervalSeconds: new(int64(10))}}
	_, err := w.service.WorkerHeartbeat(w.ctx, beat)
	require.NoError(t, err)
	_, err = w.service.GetScheduledFlowRuns(w.ctx, &orchv1.GetScheduledFlowRunsRequest{Name: "p"})
	require.NoError(t, err)
	require.Equal(t, orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY, w.read("p").GetStatus())

	w.clock.Advance(30 * time.Second)
	require.NoError(t, w.service.checkReadiness(w.ctx, time.Time{}))
	require.Equal(t, orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY, w.read("p").GetStatus(), "three intervals are not over yet")
	w.clock.Advance(time.Second)
	require.NoError(t, w.service.checkReadiness(w.ctx, time.Time{}))
	require.Equal(t, orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY, w.read("p").GetStatus())
	workers, err := w.service.ReadWorkers(w.ctx, &orchv1.ReadWorkersRequest{WorkPoolName: "p"})
	require.NoError(t, err)
	require.Equal(t, orchv1.WorkerStatus_WORKER_STATUS_OFFLINE, workers.GetWorkers()[0].GetStatus())

	queue := func() orchv1.WorkQueueStatus {
		q, err := w.service.ReadWorkPoolQueue(w.ctx, &orchv1.ReadWorkPoolQueueRequest{WorkPoolName: "p", Name: "default"})
		require.NoError(t, err)
		return q.GetStatus()
	}
	require.Equal(t, orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_READY, queue())
	w.clock.Advance(30 * time.Second)
	require.NoError(t, w.service.checkReadiness(w.ctx, time.Time{}))
	require.NoError(t, w.service.checkReadiness(w.ctx, time.Time{}), "a second pass changes nothing")
	require.Equal(t, orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_NOT_READY, queue())

	require.Equal(t, []string{
		"orch.work-queue.created", "orch.work-pool.created", "orch.work-pool.not-ready", "orch.work-pool.ready", "orch.work-pool.not-ready",
	}, w.eventNames(query.WorkPool, pool.GetId()))
	require.Equal(t, []string{"orch.work-queue.ready", "orch.work-queue.not-ready"}, w.eventNames(query.WorkQueue, pool.GetDefaultQueueId()))
}

// A poll after the clock stepped back counts: the queue is not ready a minute after it, not when the clock is there again.
func TestAQueueIsPolledAfterTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool("p")
	for range 2 {
		_, err := w.service.GetScheduledFlowRuns(w.ctx, &orchv1.GetScheduledFlowRunsRequest{Name: "p"})
		require.NoError(t, err)
		w.clock.Advance(-time.Hour)
	}
	w.clock.Advance(time.Hour + pollRecent + time.Second)
	require.NoError(t, w.service.checkReadiness(w.ctx, time.Time{}))
	q, err := w.service.ReadWorkPoolQueue(w.ctx, &orchv1.ReadWorkPoolQueueRequest{WorkPoolName: "p", Name: "default"})
	require.NoError(t, err)
	require.Equal(t, orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_NOT_READY, q.GetStatus())
}

func TestPausesArePublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pool := w.pool("p")
	paused := func(paused bool) {
		_, err := w.service.UpdateWorkPoolQueue(w.ctx, &orchv1.UpdateWorkPoolQueueRequest{
			WorkPoolName: "p", Name: "default", WorkQueue: &orchv1.WorkQueueUpdate{IsPaused: paused}, UpdateMask: mask("is_paused"),
		})
		require.NoError(t, err)
	}
	paused(true)
	paused(true)
	paused(false)
	require.Equal(t, []string{"orch.work-queue.paused", "orch.work-queue.not-ready"}, w.eventNames(query.WorkQueue, pool.GetDefaultQueueId()))
	for range 2 {
		_, err := w.service.UpdateWorkPool(w.ctx, &orchv1.UpdateWorkPoolRequest{
			Name: "p", WorkPool: &orchv1.WorkPoolUpdate{IsPaused: new(true), Description: new("x")}, UpdateMask: mask("is_paused", "description"),
		})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"orch.work-pool.updated", "orch.work-pool.paused", "orch.work-pool.paused"}, w.eventNames(query.WorkPool, pool.GetId())[3:])
}

// TestForemanWaitsAfterAStartAndAGap: a worker that had no chance to send a heartbeat is not offline, and nothing is not ready.
func TestForemanWaitsAfterAStartAndAGap(t *testing.T) {
	t.Parallel()
	const every = 15 * time.Second
	for name, interrupt := range map[string]func(w *world, foreman *Foreman) *Foreman{
		"a start": func(w *world, _ *Foreman) *Foreman {
			w.clock.Advance(time.Hour)
			return NewForeman(w.service, every)
		},
		"a gap between passes": func(w *world, foreman *Foreman) *Foreman {
			w.clock.Advance(time.Hour)
			return foreman
		},
		"an outage of the store": func(w *world, foreman *Foreman) *Foreman {
			for range 8 {
				w.clock.Advance(every)
				ended, cancel := context.WithCancel(w.ctx)
				cancel()
				require.Error(w, foreman.Pass(ended))
				foreman.last = time.Time{} // The context stands for a store that does not respond.
			}
			return foreman
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			pool := w.pool("p")
			foreman := NewForeman(w.service, every)
			require.NoError(t, foreman.Pass(w.ctx))
			_, err := w.service.WorkerHeartbeat(w.ctx, &orchv1.WorkerHeartbeatRequest{
				WorkPoolName: "p", Heartbeat: &orchv1.Heartbeat{Name: "w", HeartbeatIntervalSeconds: new(int64(10))},
			})
			require.NoError(t, err)
			_, err = w.service.GetScheduledFlowRuns(w.ctx, &orchv1.GetScheduledFlowRunsRequest{Name: "p"})
			require.NoError(t, err)
			before := w.eventNames(query.WorkPool, pool.GetId())

			foreman = interrupt(w, foreman)
			for range 2 { // 30 s: three heartbeats of the worker.
				require.NoError(t, foreman.Pass(w.ctx))
				w.clock.Advance(every)
			}
			require.NoError(t, foreman.Pass(w.ctx))
			require.Equal(t, before, w.eventNames(query.WorkPool, pool.GetId()), "no event within the grace")
			w.clock.Advance(time.Second)
			require.NoError(t, foreman.Pass(w.ctx))
			require.Equal(t, append(before, "orch.work-pool.not-ready"), w.eventNames(query.WorkPool, pool.GetId()))
			require.NotContains(t, w.eventNames(query.WorkQueue, pool.GetDefaultQueueId()), "orch.work-queue.not-ready")
			for range 2 {
				w.clock.Advance(every)
				require.NoError(t, foreman.Pass(w.ctx))
			}
			require.Contains(t, w.eventNames(query.WorkQueue, pool.GetDefaultQueueId()), "orch.work-queue.not-ready")
		})
	}
}
