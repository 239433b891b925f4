package deployments

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateDeployment stores a deployment (201), or updates the deployment with that flow and name (200). An update keeps
// fields that the request lacks, except schedules, which it always replaces.
func (s *Service) CreateDeployment(ctx context.Context, r *orchv1.CreateDeploymentRequest) (*orchv1.Deployment, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	mask := r.GetUpdateMask().GetPaths()
	var fieldErrors []*orchv1.FieldError
	for _, field := range []string{"name", "flow_id"} {
		if !slices.Contains(mask, field) {
			fieldErrors = append(fieldErrors, rpc.BodyError("missing", "Field required", field))
		}
	}
	if len(fieldErrors) > 0 {
		return nil, rpc.Invalid(fieldErrors...)
	}
	if !slices.Contains(mask, "schedules") {
		mask = append(slices.Clone(mask), "schedules")
	}
	asked, err := s.prepare(ctx, info.Workspace, r.GetDeployment(), mask)
	if err != nil {
		return nil, err
	}
	flowID, err := resourceid.Parse(asked.create.GetFlowId())
	if err != nil {
		return nil, err
	}

	// The deployment may be deleted between the conflicting insert and the update.
	for range 3 {
		existing, err := s.byName(ctx, info.Workspace, flowID, asked.create.GetName())
		if errors.Is(err, store.ErrNotFound) {
			d, err := s.insert(ctx, info.Workspace, s.deployments.Store().NewID(), asked)
			if errors.Is(err, store.ErrDuplicate) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if err := rpc.SetStatus(ctx, http.StatusCreated); err != nil {
				return nil, err
			}
			return s.present(ctx, info.Workspace, d)
		}
		if err != nil {
			return nil, err
		}
		id, err := resourceid.Parse(existing.GetId())
		if err != nil {
			return nil, err
		}
		d, err := s.change(ctx, info.Workspace, id, flowruns.AutoFuture, asked.apply)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return s.present(ctx, info.Workspace, d)
	}
	return nil, fmt.Errorf("create deployment: %w", store.ErrContention)
}

// insert stores a new deployment.
func (s *Service) insert(ctx context.Context, ws, id uuid.UUID, asked *createRequest) (*orchv1.Deployment, error) {
	d := newDeployment(id)
	d.CreatedBy = asked.by
	if err := asked.apply(d); err != nil {
		return nil, err
	}
	d.ScheduleDue = schedules.Due(d, s.deployments.Store().Now())
	created, err := s.lifecycle(ws, d, "created", nil)
	if err != nil {
		return nil, err
	}
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	end, err := s.quotas.Begin(ctx, info.Account, quota.Deployments)
	if err != nil {
		return nil, err
	}
	defer end()
	effects := append([]store.Effect{created}, s.limitEffects(ws, id, nil, d.ConcurrencySlots)...)
	if err := s.deployments.Insert(ctx, ws, d, effects...); err != nil {
		return nil, err
	}
	if len(effects) > 1 {
		s.flush.Flush(ctx, query.Deployment, ws, id)
	}
	return d, nil
}

// newDeployment returns a deployment with the defaults.
func newDeployment(id uuid.UUID) *orchv1.Deployment {
	return &orchv1.Deployment{
		Id:                     id.String(),
		EnforceParameterSchema: true,
		Status:                 orchv1.DeploymentStatus_DEPLOYMENT_STATUS_NOT_READY.Enum(),
		ParameterOpenapiSchema: []byte("{}"),
		PullSteps:              &orchv1.JsonObjects{},
		Labels:                 map[string]*orchv1.Scalar{},
	}
}

// change edits a deployment, publishes that, deletes the runs that were scheduled under the old settings, and has the
// scheduler examine the deployment now.
func (s *Service) change(
	ctx context.Context, ws, id uuid.UUID, obsolete flowruns.Unstarted, edit func(*orchv1.Deployment) error,
) (*orchv1.Deployment, error) {
	db := s.deployments.Store()
	changed, err := s.deployments.Mutate(ctx, ws, id, store.Edit(edit, func(current, next *orchv1.Deployment) ([]store.Effect, error) {
		updated, err := s.updated(ws, current, next)
		if err != nil {
			return nil, err
		}
		effects := []store.Effect{updated}
		now := db.Now()
		if obsolete != flowruns.NoneScheduled {
			generation := next.GetScheduleGeneration() + 1
			next.ScheduleGeneration = &generation
			next.ScheduleRecheck = timestamppb.New(now.Add(schedules.RecheckAfter))
			effects = append(effects, flowruns.DeleteUnstarted(db, ws, id, obsolete, generation))
		}
		if obsolete != flowruns.NoneScheduled || current.GetPaused() {
			// Runs that were due before, or while the deployment was paused, are not created any more.
			for _, sched := range next.GetSchedules() {
				sched.ScheduledUntil = timestamppb.New(now)
			}
		}
		next.ScheduleDue = schedules.Due(next, now)
		return append(effects, s.limitEffects(ws, id, current.ConcurrencySlots, next.ConcurrencySlots)...), nil
	}))
	if err != nil {
		return nil, err
	}
	s.flush.Flush(ctx, query.Deployment, ws, id)
	return changed, nil
}
