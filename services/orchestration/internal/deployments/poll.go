package deployments

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// pollGrain is the resolution of the stored poll time: more frequent polls cause no additional writes.
const pollGrain = 20 * time.Second

// GetScheduledFlowRunsForDeployments returns the scheduled runs of deployments, the next one first. The poll marks the
// deployments as ready: a worker serves them.
func (s *Service) GetScheduledFlowRunsForDeployments(ctx context.Context, r *orchv1.GetScheduledFlowRunsForDeploymentsRequest) (*orchv1.FlowRunList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	filter := &orchv1.FlowRunFilter{
		DeploymentId: &orchv1.OptionalUuidFilter{Any_: &orchv1.UuidList{Values: q.GetDeploymentIds()}},
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
	if err != nil {
		return nil, err
	}
	for _, deployment := range q.GetDeploymentIds() {
		id, err := resourceid.Parse(deployment)
		if err != nil {
			return nil, err
		}
		if err := s.polled(ctx, info.Workspace, id); err != nil {
			return nil, err
		}
	}
	return runs, nil
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
