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
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
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
	limit, err := pagination.Limit(r.GetQuery().GetLimit())
	if err != nil {
		return nil, err
	}
	var before *time.Time
	if r.GetQuery().ScheduledBefore != nil {
		before = new(r.GetQuery().GetScheduledBefore().AsTime())
	}
	due, err := s.pools.NextRunsOf(ctx, info.Workspace, ids, before, limit)
	if err != nil {
		return nil, err
	}
	now := s.deployments.Store().Now()
	for _, run := range due {
		flowruns.Present(run, now)
	}
	for _, id := range ids {
		if err := s.polled(ctx, info.Workspace, id); err != nil {
			return nil, err
		}
	}
	return &orchv1.FlowRunList{FlowRuns: due}, nil
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
