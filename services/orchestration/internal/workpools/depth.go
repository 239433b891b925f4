package workpools

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxDepth is the number at which runs that wait are no longer counted: no autoscaler starts more workers at once.
const maxDepth = 10_000

// ReadWorkPoolDepth returns the number of runs of a pool that wait or execute.
func (s *Service) ReadWorkPoolDepth(ctx context.Context, r *orchv1.ReadWorkPoolDepthRequest) (*orchv1.WorkDepth, error) {
	ws, pool, err := s.locate(ctx, r.GetName())
	if err != nil {
		return nil, err
	}
	queues, err := s.queuesOf(ctx, ws, pool)
	if err != nil {
		return nil, err
	}
	return s.depth(ctx, ws, pool, queues)
}

// ReadWorkPoolQueueDepth returns the number of runs of a queue that wait or execute.
func (s *Service) ReadWorkPoolQueueDepth(ctx context.Context, r *orchv1.ReadWorkPoolQueueDepthRequest) (*orchv1.WorkDepth, error) {
	ws, queue, err := s.locateQueue(ctx, r.GetWorkPoolName(), r.GetName())
	if err != nil {
		return nil, err
	}
	return s.depth(ctx, ws, queue.Pool, []*orchv1.WorkQueue{queue.Queue})
}

// depth counts the runs of queues. Runs of a paused queue or pool do not wait for a worker.
func (s *Service) depth(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool, queues []*orchv1.WorkQueue) (*orchv1.WorkDepth, error) {
	depth := &orchv1.WorkDepth{}
	for _, queue := range queues {
		id, err := resourceid.Parse(queue.GetId())
		if err != nil {
			return nil, err
		}
		for kind, count := range map[string]*int64{"PENDING": &depth.Pending, "RUNNING": &depth.Running} {
			n, err := s.runs.Count(ctx, ws, store.Query{Filter: occupying(id, kind)})
			if err != nil {
				return nil, err
			}
			*count += n
		}
		if pool.GetIsPaused() || queue.GetIsPaused() || depth.Waiting >= maxDepth {
			continue
		}
		n, err := s.runs.Count(ctx, ws, store.Query{Limit: maxDepth - depth.GetWaiting(), Filter: bson.D{
			{Key: "work_queue_id", Value: store.Binary(id)},
			{Key: "state.type", Value: "SCHEDULED"},
			{Key: "next_scheduled_start_time", Value: bson.D{{Key: "$lte", Value: s.runs.Store().Now().UnixMicro()}}},
			{Key: "empirical_policy.retry_type", Value: bson.D{{Key: "$ne", Value: wordInProcess}}},
		}})
		if err != nil {
			return nil, err
		}
		depth.Waiting += n
	}
	depth.Demand = depth.GetWaiting() + depth.GetPending() + depth.GetRunning()
	return depth, nil
}
