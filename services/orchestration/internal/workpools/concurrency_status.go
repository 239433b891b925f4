package workpools

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadWorkPoolConcurrencyStatus returns which runs hold the slots of a pool, by queue.
func (s *Service) ReadWorkPoolConcurrencyStatus(ctx context.Context, r *orchv1.ReadWorkPoolConcurrencyStatusRequest) (*orchv1.WorkPoolConcurrencyStatus, error) {
	size, err := pagination.Limit(r.GetQuery().GetLimit())
	if err != nil {
		return nil, err
	}
	ws, pool, err := s.locate(ctx, r.GetName())
	if err != nil {
		return nil, err
	}
	queues, err := s.queuesOf(ctx, ws, pool)
	if err != nil {
		return nil, err
	}
	number := max(r.GetQuery().GetPage(), 1)
	count := int64(len(queues))
	answer := &orchv1.WorkPoolConcurrencyStatus{
		ConcurrencyLimit: pool.ConcurrencyLimit, Count: count, Limit: size, Pages: pagination.Pages(count, size), Page: number,
	}
	first := min(pagination.Offset(number, size), count)
	for i, queue := range queues {
		active, err := s.activeRuns(ctx, ws, queue)
		if err != nil {
			return nil, err
		}
		answer.ActiveSlots += active
		if int64(i) < first || int64(i) >= first+size {
			continue
		}
		runs, err := s.slotHolders(ctx, ws, queue, 0, r.GetQuery().GetFlowRunLimit())
		if err != nil {
			return nil, err
		}
		answer.Queues = append(answer.Queues, &orchv1.WorkQueueConcurrencyStatusDetail{
			QueueId: queue.GetId(), QueueName: queue.GetName(), ActiveSlots: active, ConcurrencyLimit: queue.ConcurrencyLimit,
			FlowRuns: runs, FlowRunCount: &active,
		})
	}
	return answer, nil
}

// ReadWorkQueueConcurrencyStatus returns which runs hold the slots of a queue.
func (s *Service) ReadWorkQueueConcurrencyStatus(ctx context.Context, r *orchv1.ReadWorkQueueConcurrencyStatusRequest) (*orchv1.WorkQueueConcurrencyStatus, error) {
	size, err := pagination.Limit(r.GetQuery().GetLimit())
	if err != nil {
		return nil, err
	}
	ws, queue, err := s.locateID(ctx, r.GetId())
	if err != nil {
		return nil, translateQueue(err)
	}
	count, err := s.activeRuns(ctx, ws, queue.Queue)
	if err != nil {
		return nil, err
	}
	number := max(r.GetQuery().GetPage(), 1)
	runs, err := s.slotHolders(ctx, ws, queue.Queue, pagination.Offset(number, size), size)
	if err != nil {
		return nil, err
	}
	return &orchv1.WorkQueueConcurrencyStatus{
		ActiveSlots: count, ConcurrencyLimit: queue.Queue.ConcurrencyLimit, FlowRuns: runs,
		Count: count, Limit: size, Pages: pagination.Pages(count, size), Page: number,
	}, nil
}

// slotHolders are the runs that hold slots of a queue, the longest in their states first.
func (s *Service) slotHolders(ctx context.Context, ws uuid.UUID, queue *orchv1.WorkQueue, offset, limit int64) ([]*orchv1.FlowRunSlotSummary, error) {
	id, err := resourceid.Parse(queue.GetId())
	if err != nil {
		return nil, err
	}
	runs, err := s.runs.Find(ctx, ws, store.Query{Filter: bson.D{
		{Key: "work_queue_id", Value: store.Binary(id)}, {Key: "state.type", Value: bson.D{{Key: "$in", Value: wordsOccupying}}},
	}, Sort: bson.D{{Key: "state.timestamp", Value: 1}, {Key: "_id", Value: 1}}, Offset: offset, Limit: limit})
	if err != nil {
		return nil, err
	}
	now := s.runs.Store().Now()
	summaries := make([]*orchv1.FlowRunSlotSummary, len(runs))
	for i, run := range runs {
		state := run.GetState()
		summaries[i] = &orchv1.FlowRunSlotSummary{
			Id: run.GetId(), Name: run.GetName(), StateType: state.GetType().Enum(), StateName: new(state.GetName()),
			StartTime: run.StartTime, StateTimestamp: state.GetTimestamp(), TimeInCurrentState: new(since(state, now)),
		}
	}
	return slices.Clip(summaries), nil
}

func since(state *orchv1.State, now time.Time) float64 {
	return max(0, now.Sub(state.GetTimestamp().AsTime()).Seconds())
}
