package workpools

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// missedHeartbeats is after how many intervals without a heartbeat a worker is offline.
	missedHeartbeats = 3
	// defaultHeartbeat is the interval of a worker that names none.
	defaultHeartbeat = 30 * time.Second
)

// checkReadiness is a pass of the foreman: workers without heartbeats go offline, pools without a worker that is online become not
// ready, and so do queues and deployments that nobody polls. Silence counts from since at the earliest. One part that fails does not
// keep the others from being done.
func (s *Service) checkReadiness(ctx context.Context, since time.Time) error {
	now := s.pools.Store().Now()
	err := errors.Join(s.markWorkersOffline(ctx, now, since), s.markPoolsUnready(ctx))
	moment := now.Add(-pollRecent)
	if since.After(moment) {
		return err
	}
	return errors.Join(err, s.markQueuesUnready(ctx, moment), s.readiness.Unready(ctx, moment))
}

// markWorkersOffline ends workers that missed their heartbeats.
func (s *Service) markWorkersOffline(ctx context.Context, now, since time.Time) error {
	var silent []store.Owned[*orchv1.Worker]
	err := s.workers.EachAcross(ctx, store.Query{Filter: bson.D{{Key: "status", Value: wordOnline}}}, func(ws uuid.UUID, w *orchv1.Worker) error {
		if overdue(w, now, since) {
			silent = append(silent, store.Owned[*orchv1.Worker]{Workspace: ws, Message: w})
		}
		return nil
	})
	if err != nil {
		return err
	}
	pass := s.workers.Store().Pass(ctx, "mark workers offline")
	for _, one := range silent {
		err := s.markOffline(ctx, one.Workspace, one.Message, now, since)
		if pass.Record(err, "workspace", one.Workspace, "worker_id", one.Message.GetId()) != nil {
			break
		}
	}
	return pass.Err()
}

func (s *Service) markOffline(ctx context.Context, ws uuid.UUID, w *orchv1.Worker, now, since time.Time) error {
	id, err := resourceid.Parse(w.GetId())
	if err != nil {
		return err
	}
	_, err = s.workers.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.Worker) error {
		if overdue(next, now, since) {
			next.Status = orchv1.WorkerStatus_WORKER_STATUS_OFFLINE
		}
		return nil
	}, nil))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	s.log.InfoContext(ctx, "a worker is offline", "worker", w.GetName(), "work_pool_id", w.GetWorkPoolId())
	return nil
}

// overdue reports whether a worker has missed its heartbeats since a moment.
func overdue(w *orchv1.Worker, now, since time.Time) bool {
	last := w.GetLastHeartbeatTime().AsTime()
	if since.After(last) {
		last = since
	}
	return now.Sub(last) > missedHeartbeats*heartbeatInterval(w)
}

// heartbeatInterval returns the interval of a worker's heartbeats.
func heartbeatInterval(w *orchv1.Worker) time.Duration {
	if seconds := w.GetHeartbeatIntervalSeconds(); seconds > 0 {
		return time.Duration(min(seconds, int64(time.Hour.Seconds()))) * time.Second
	}
	return defaultHeartbeat
}

// markPoolsUnready ends the readiness of pools whose workers are all offline.
func (s *Service) markPoolsUnready(ctx context.Context) error {
	pools, err := s.pools.FindAcross(ctx, store.Query{Filter: bson.D{{Key: "status", Value: "READY"}}})
	if err != nil {
		return err
	}
	pass := s.pools.Store().Pass(ctx, "mark work pools not ready")
	for _, one := range pools {
		err := s.markPoolUnready(ctx, one.Workspace, one.Message)
		if pass.Record(err, "workspace", one.Workspace, "work_pool_id", one.Message.GetId()) != nil {
			break
		}
	}
	return pass.Err()
}

// markPoolUnready ends the readiness of a pool without a worker that is online.
func (s *Service) markPoolUnready(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool) error {
	const ready, unready = orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY, orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY
	id, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return err
	}
	online, err := s.hasOnlineWorker(ctx, ws, id)
	if err != nil || online {
		return err
	}
	if err := s.setPoolStatus(ctx, ws, id, ready, unready); err != nil {
		return err
	}
	s.log.InfoContext(ctx, "a work pool is not ready", "work_pool", pool.GetName())
	return nil
}

// markQueuesUnready ends the readiness of queues that were not polled since a moment.
func (s *Service) markQueuesUnready(ctx context.Context, moment time.Time) error {
	queues, err := s.queues.FindAcross(ctx, store.Query{Filter: bson.D{{Key: "status", Value: "READY"}}})
	if err != nil {
		return err
	}
	pass := s.queues.Store().Pass(ctx, "mark work queues not ready")
	for _, one := range queues {
		if !unpolled(one.Message, moment) {
			continue
		}
		err := s.markQueueUnready(ctx, one.Workspace, one.Message, moment)
		if pass.Record(err, "workspace", one.Workspace, "work_queue_id", one.Message.GetId()) != nil {
			break
		}
	}
	return pass.Err()
}

// markQueueUnready ends the readiness of a queue that was not polled since a moment.
func (s *Service) markQueueUnready(ctx context.Context, ws uuid.UUID, queue *orchv1.WorkQueue, moment time.Time) error {
	const unready = orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_NOT_READY
	id, err := resourceid.Parse(queue.GetId())
	if err != nil {
		return err
	}
	pool, err := s.poolOf(ctx, ws, queue)
	if errors.Is(err, store.ErrNotFound) {
		return nil // It is being deleted with its pool.
	}
	if err != nil {
		return err
	}
	_, err = s.queues.Mutate(ctx, ws, id, func(current *orchv1.WorkQueue, _ int64) (*store.Change[*orchv1.WorkQueue], error) {
		if !unpolled(current, moment) {
			return nil, nil
		}
		next := proto.CloneOf(current)
		next.Status = unready.Enum()
		changed, err := s.queueEvent(ws, next, pool, queueStatusVerbs[unready], nil)
		if err != nil {
			return nil, err
		}
		return &store.Change[*orchv1.WorkQueue]{Message: next, Effects: []store.Effect{changed}, Quiet: true}, nil
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	s.log.InfoContext(ctx, "a work queue is not ready", "work_queue", queue.GetName(), "work_pool", pool.GetName())
	return nil
}

func unpolled(queue *orchv1.WorkQueue, since time.Time) bool {
	return queue.GetStatus() == orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_READY && (queue.LastPolled == nil || queue.GetLastPolled().AsTime().Before(since))
}
