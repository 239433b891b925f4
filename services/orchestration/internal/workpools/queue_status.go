package workpools

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadWorkQueueStatus returns the health of a queue: it has no late runs and was polled within the last minute.
func (s *Service) ReadWorkQueueStatus(ctx context.Context, r *orchv1.ReadWorkQueueStatusRequest) (*orchv1.WorkQueueStatusDetail, error) {
	ws, queue, err := s.locateID(ctx, r.GetId())
	if errors.Is(err, store.ErrNotFound) {
		return nil, workQueueWithIDNotFound(r.GetId())
	}
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(queue.Queue.GetId())
	if err != nil {
		return nil, err
	}
	lateRuns, err := s.runs.Count(ctx, ws, store.Query{Filter: bson.D{
		{Key: "work_queue_id", Value: store.Binary(id)}, {Key: "state.type", Value: "SCHEDULED"}, {Key: "state.name", Value: "Late"},
	}})
	if err != nil {
		return nil, err
	}
	polled := queue.Queue.LastPolled
	recent := polled != nil && s.queues.Store().Now().Sub(polled.AsTime()) < pollRecent
	return &orchv1.WorkQueueStatusDetail{
		Healthy: recent && lateRuns == 0, LateRunsCount: lateRuns, LastPolled: polled,
		HealthCheckPolicy: &orchv1.WorkQueueHealthPolicy{MaximumLateRuns: new(int64(0)), MaximumSecondsSinceLastPolled: new(int64(60))},
	}, nil
}
