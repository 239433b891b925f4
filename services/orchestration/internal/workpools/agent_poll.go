package workpools

import (
	"context"
	"errors"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// wordCancelling is the type of a state in which a run holds a slot of its queue where agents poll it.
const wordCancelling = "CANCELLING"

// ReadWorkQueueRuns returns the scheduled runs of a queue that an agent may start, in the order of package runorder. Unlike the poll of a
// pool, it counts runs that are being cancelled, and gives out retries that a process makes itself.
func (s *Service) ReadWorkQueueRuns(ctx context.Context, r *orchv1.ReadWorkQueueRunsRequest) (*orchv1.FlowRunList, error) {
	limit, err := pagination.Limit(r.GetQuery().GetLimit())
	if err != nil {
		return nil, err
	}
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
	take := limit
	if queue.Queue.ConcurrencyLimit != nil {
		taken, err := s.activeRuns(ctx, ws, queue.Queue)
		if err != nil {
			return nil, err
		}
		cancelling, err := s.runs.Count(ctx, ws, store.Query{Filter: occupying(id, wordCancelling)})
		if err != nil {
			return nil, err
		}
		take = min(take, freeSlots(queue.Queue.ConcurrencyLimit, taken+cancelling))
	}
	within := pollBounds{inProcess: true}
	if before := r.GetQuery().GetScheduledBefore(); before != nil {
		within.before = new(before.AsTime())
	}
	var runs []*orchv1.FlowRun
	if take > 0 && !queue.Queue.GetIsPaused() && !queue.Pool.GetIsPaused() {
		if runs, err = s.nextRuns(ctx, ws, queue.Queue, within, take); err != nil {
			return nil, err
		}
	}
	now := s.runs.Store().Now()
	for _, run := range runs {
		flowruns.Present(run, now)
	}
	if !r.GetXUi() {
		s.recordPoll(ctx, ws, queue.Pool, []*orchv1.WorkQueue{queue.Queue})
	}
	return &orchv1.FlowRunList{FlowRuns: runs}, nil
}
