package deployments

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// pollGrain is the resolution of the stored poll time: more frequent polls cause no additional writes.
const pollGrain = 20 * time.Second

// GetScheduledFlowRunsForDeployments returns the scheduled runs of deployments that have slots, in the order of package runorder. The poll
// marks the deployments as ready: a worker serves them.
func (s *Service) GetScheduledFlowRunsForDeployments(ctx context.Context, r *orchv1.GetScheduledFlowRunsForDeploymentsRequest) (*orchv1.FlowRunList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, deployment := range r.GetQuery().GetDeploymentIds() {
		id, err := resourceid.Parse(deployment)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	due, err := s.startable(ctx, info.Workspace, r.GetQuery(), ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := s.polled(ctx, info.Workspace, id); err != nil {
			return nil, err
		}
	}
	return &orchv1.FlowRunList{FlowRuns: due}, nil
}

// startable returns the runs of deployments that do not wait for slots, among the earliest ones, in the order of package runorder. When
// the runs of deployments without further slots fill a page, the poll reads on without these deployments.
func (s *Service) startable(ctx context.Context, ws uuid.UUID, q *orchv1.ScheduledFlowRunsOfDeployments, ids []uuid.UUID) ([]*orchv1.FlowRun, error) {
	limit, err := pagination.Limit(q.GetLimit())
	if err != nil {
		return nil, err
	}
	free, err := s.pools.FreeSlots(ctx, ws, ids)
	if err != nil {
		return nil, err
	}
	read := map[*int64]int64{} // The runs for the free slots of each limit.
	full := func(deployment string) bool { slots := free[deployment]; return slots != nil && read[slots] >= *slots }
	var due []*orchv1.FlowRun
	seen := map[string]bool{}
	open := slices.DeleteFunc(slices.Clone(q.GetDeploymentIds()), full)
	for startable := int64(0); len(open) > 0 && startable < limit; {
		page, err := s.scheduledRuns(ctx, q, open)
		if err != nil {
			return nil, err
		}
		for _, run := range page {
			if seen[run.GetId()] {
				continue
			}
			if !full(run.GetDeploymentId()) {
				startable++
			}
			seen[run.GetId()] = true
			read[free[run.GetDeploymentId()]]++
			due = append(due, run)
		}
		before := len(open)
		if open = slices.DeleteFunc(open, full); len(open) == before || int64(len(page)) < limit {
			break
		}
	}
	return s.pools.Startable(due, &runorder.VirtualTime{}, free, limit), nil
}

// scheduledRuns reads the scheduled runs of deployments, the next one first.
func (s *Service) scheduledRuns(ctx context.Context, q *orchv1.ScheduledFlowRunsOfDeployments, deployments []string) ([]*orchv1.FlowRun, error) {
	filter := &orchv1.FlowRunFilter{
		DeploymentId: &orchv1.OptionalUuidFilter{Any_: &orchv1.UuidList{Values: deployments}},
		State: &orchv1.FlowRunFilterState{Type: &orchv1.StateTypeFilter{
			Any_: &orchv1.StateTypeList{Values: []orchv1.StateType{orchv1.StateType_STATE_TYPE_SCHEDULED}},
		}},
	}
	if q.ScheduledBefore != nil {
		filter.NextScheduledStartTime = &orchv1.TimeFilter{Before_: q.GetScheduledBefore()}
	}
	runs, err := s.runs.ReadFlowRuns(ctx, &orchv1.ReadFlowRunsRequest{Query: &orchv1.FlowRunQuery{
		FlowRuns: filter, Limit: q.GetLimit(), Sort: orchv1.FlowRunSort_FLOW_RUN_SORT_NEXT_SCHEDULED_START_TIME_ASC,
	}})
	return runs.GetFlowRuns(), err
}

// polled marks a deployment as ready. It does not count as an update, so the update time stays.
func (s *Service) polled(ctx context.Context, ws, id uuid.UUID) error {
	now := s.deployments.Store().Now()
	_, err := s.deployments.Mutate(ctx, ws, id, func(current *orchv1.Deployment, _ int64) (*store.Change[*orchv1.Deployment], error) {
		ready := current.GetStatus() == orchv1.DeploymentStatus_DEPLOYMENT_STATUS_READY
		if last := current.GetLastPolled().AsTime(); ready && now.Sub(last) < pollGrain && !now.Before(last) {
			return nil, nil
		}
		next := proto.Clone(current).(*orchv1.Deployment)
		next.LastPolled = timestamppb.New(now)
		next.Status = orchv1.DeploymentStatus_DEPLOYMENT_STATUS_READY.Enum()
		change := &store.Change[*orchv1.Deployment]{Message: next, Quiet: true}
		if !ready {
			published, err := s.lifecycle(ws, next, "ready", nil)
			if err != nil {
				return nil, err
			}
			change.Effects = []store.Effect{published}
		}
		return change, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
