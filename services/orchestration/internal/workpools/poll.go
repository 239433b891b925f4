package workpools

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
)

// poll selects the scheduled runs of a pool that a worker may start. Empty queues mean all of them.
type poll struct {
	workspace uuid.UUID
	pool      string
	queues    []string
	within    pollBounds
	limit     int64
}

// pollBounds are the runs that a poll considers: those with a scheduled start in an inclusive range; nil is unbounded.
type pollBounds struct {
	after, before *time.Time
	// inProcess includes runs that retry in their own process.
	inProcess bool
}

// GetScheduledFlowRuns returns the scheduled runs of a pool that a worker may start: queues by priority, the runs
// of a queue in the order of package runorder. The result omits runs beyond the free slots of their queue or of the pool. It reserves
// nothing: the worker that sets a run to PENDING wins it. The caller must not change the runs: concurrent polls share them.
func (s *Service) GetScheduledFlowRuns(ctx context.Context, r *orchv1.GetScheduledFlowRunsRequest) (*orchv1.WorkerFlowRunList, error) {
	q := r.GetQuery()
	limit, err := pagination.Limit(q.GetLimit())
	if err != nil {
		return nil, err
	}
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	p := poll{workspace: info.Workspace, pool: r.GetName(), queues: q.GetWorkQueueNames(), limit: limit}
	if q.GetScheduledBefore() != nil {
		p.within.before = new(q.GetScheduledBefore().AsTime())
	}
	if q.GetScheduledAfter() != nil {
		p.within.after = new(q.GetScheduledAfter().AsTime())
	}
	ranked, err := s.sharedPoll(ctx, p)
	if err != nil {
		return nil, err
	}
	return &orchv1.WorkerFlowRunList{FlowRuns: ranked}, nil
}

// poll reads the runs of a poll and records that their queues were polled.
func (s *Service) poll(ctx context.Context, p poll) ([]*orchv1.WorkerFlowRunResponse, error) {
	pool, err := s.pool(ctx, p.workspace, p.pool)
	if err != nil {
		return nil, err
	}
	queues, err := s.queuesOf(ctx, p.workspace, pool)
	if err != nil {
		return nil, err
	}
	polled, err := named(queues, pool, p.queues)
	if err != nil {
		return nil, err
	}
	ranked, err := s.rankRuns(ctx, p.workspace, pool, queues, polled, p.within, p.limit)
	if err != nil {
		return nil, err
	}
	s.recordPoll(ctx, p.workspace, pool, polled)
	return ranked, nil
}

// named returns the queues with these names; no names mean all. An unknown name is a 404.
func named(queues []*orchv1.WorkQueue, pool *orchv1.WorkPool, names []string) ([]*orchv1.WorkQueue, error) {
	if len(names) == 0 {
		return queues, nil
	}
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	var found []*orchv1.WorkQueue
	for _, queue := range queues {
		if wanted[queue.GetName()] {
			found = append(found, queue)
			delete(wanted, queue.GetName())
		}
	}
	for _, name := range names {
		if wanted[name] {
			return nil, queueNotFound(pool.GetName(), name)
		}
	}
	return found, nil
}

// rankRuns reads the runs that a worker may start, by one range of an index for each queue. As a queue's priority is
// unique in its pool, the runs of a queue all come before those of the next.
func (s *Service) rankRuns(
	ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool, all, polled []*orchv1.WorkQueue, within pollBounds, limit int64,
) ([]*orchv1.WorkerFlowRunResponse, error) {
	if pool.GetIsPaused() {
		return nil, nil
	}
	taken, err := s.activeByQueue(ctx, ws, counted(pool, all, polled))
	if err != nil {
		return nil, err
	}
	room := min(poolRoom(pool, all, taken), limit)
	now := s.runs.Store().Now()
	var ranked []*orchv1.WorkerFlowRunResponse
	for _, queue := range polled {
		if room == 0 {
			break
		}
		if queue.GetIsPaused() {
			continue
		}
		take := min(freeSlots(queue.ConcurrencyLimit, taken[queue.GetId()]), room)
		if take == 0 {
			continue
		}
		found, err := s.nextRuns(ctx, ws, queue, within, take)
		if err != nil {
			return nil, err
		}
		for _, run := range found {
			ranked = append(ranked, &orchv1.WorkerFlowRunResponse{
				WorkPoolId: pool.GetId(), WorkQueueId: queue.GetId(), FlowRun: forWorker(run, queue, pool, now),
			})
		}
		room -= int64(len(found))
	}
	return ranked, nil
}

// counted returns the queues whose runs a poll counts: those that share the slots of the pool, and those with slots of their own.
func counted(pool *orchv1.WorkPool, all, polled []*orchv1.WorkQueue) []*orchv1.WorkQueue {
	if pool.ConcurrencyLimit != nil {
		return all
	}
	var limited []*orchv1.WorkQueue
	for _, queue := range polled {
		if queue.ConcurrencyLimit != nil && !queue.GetIsPaused() {
			limited = append(limited, queue)
		}
	}
	return limited
}

// poolRoom returns the number of free slots of a pool. Runs of paused queues take none.
func poolRoom(pool *orchv1.WorkPool, queues []*orchv1.WorkQueue, taken map[string]int64) int64 {
	var sum int64
	for _, queue := range queues {
		if !queue.GetIsPaused() {
			sum += taken[queue.GetId()]
		}
	}
	return freeSlots(pool.ConcurrencyLimit, sum)
}

// wordInProcess is the stored value of a retry within the run's own process: no worker may start the run again.
const wordInProcess = "in_process"

// filter matches the scheduled starts within the bounds; unbounded ones only exist. Runs that retry in their own process do not match,
// unless the poll includes them.
func (b pollBounds) filter() bson.D {
	var at bson.D
	if b.after != nil {
		at = append(at, bson.E{Key: "$gte", Value: b.after.UnixMicro()})
	}
	if b.before != nil {
		at = append(at, bson.E{Key: "$lte", Value: b.before.UnixMicro()})
	}
	if at == nil {
		at = bson.D{{Key: "$exists", Value: true}}
	}
	filter := bson.D{{Key: "next_scheduled_start_time", Value: at}}
	if !b.inProcess {
		filter = append(filter, bson.E{Key: "empirical_policy.retry_type", Value: bson.D{{Key: "$ne", Value: wordInProcess}}})
	}
	return filter
}

// until returns the bounds that end at a time, or earlier.
func (b pollBounds) until(at time.Time) pollBounds {
	if b.before == nil || b.before.After(at) {
		b.before = &at
	}
	return b
}

// withRetries returns the bounds for reads of keys alone: the indexes do not have the kinds of retries.
func (b pollBounds) withRetries() pollBounds {
	b.inProcess = true
	return b
}

// forWorker returns a run as workers receive it: with the name of a queue other than the default.
func forWorker(run *orchv1.FlowRun, queue *orchv1.WorkQueue, pool *orchv1.WorkPool, now time.Time) *orchv1.WorkerFlowRun {
	state := run.GetState()
	w := &orchv1.WorkerFlowRun{
		Id: run.GetId(), Created: run.GetCreated(), Updated: run.GetUpdated(), Name: run.GetName(), FlowId: run.GetFlowId(),
		StateId: &state.Id, DeploymentId: run.DeploymentId, DeploymentVersion: run.DeploymentVersion, WorkQueueId: new(queue.GetId()),
		FlowVersion: run.FlowVersion, Parameters: run.GetParameters(), IdempotencyKey: run.IdempotencyKey, Context: run.GetContext(),
		EmpiricalPolicy: run.GetEmpiricalPolicy(), Tags: run.GetTags(), Labels: &orchv1.Labels{Values: run.GetLabels()},
		ParentTaskRunId: run.ParentTaskRunId, StateType: state.GetType().Enum(), StateName: state.Name, RunCount: run.GetRunCount(),
		ExpectedStartTime: run.GetExpectedStartTime(), NextScheduledStartTime: run.GetNextScheduledStartTime(),
		StartTime: run.GetStartTime(), EndTime: run.GetEndTime(), TotalRunTime: run.GetTotalRunTime(),
		EstimatedRunTime:        runs.RunTime(run.GetTotalRunTime(), state, now),
		EstimatedStartTimeDelta: runs.Lateness(run.ExpectedStartTime, run.StartTime, state, now),
		AutoScheduled:           run.GetAutoScheduled(), InfrastructureDocumentId: run.InfrastructureDocumentId,
		InfrastructurePid: run.InfrastructurePid, CreatedBy: run.GetCreatedBy(), JobVariables: run.JobVariables,
		State: state,
	}
	if queue.GetId() != pool.GetDefaultQueueId() {
		w.WorkQueueName = new(queue.GetName())
	}
	return w
}
