package deployments

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// UpdateDeployment changes the fields that the request contains. It stores parameters with their markers resolved.
func (s *Service) UpdateDeployment(ctx context.Context, r *orchv1.UpdateDeploymentRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	// A missing deployment is reported before its invalid references.
	current, err := s.deployments.Get(ctx, ws, id)
	if err != nil {
		return nil, translate(err)
	}
	if err := s.checkReferences(ctx, ws, r.GetDeployment()); err != nil {
		return nil, err
	}
	if sent := r.GetDeployment(); len(sent.GetParameters()) > 0 {
		if sent.Parameters, err = s.hydrator.Hydrate(ctx, ws, sent.GetParameters()); err != nil {
			return nil, notHydrated("deployment", err)
		}
	}
	at, err := s.findQueue(ctx, ws, r.GetDeployment(), r.GetUpdateMask().GetPaths(), current)
	if err != nil {
		return nil, err
	}
	if err := s.checkJobVariables(ctx, ws, r.GetDeployment(), at, current); err != nil {
		return nil, err
	}
	db := s.deployments.Store()
	_, err = s.change(ctx, ws, id, flowruns.AutoFuture, func(d *orchv1.Deployment) error {
		at.apply(d)
		return overlay(d, r.GetDeployment(), r.GetUpdateMask().GetPaths(), db.Now(), db.NewID)
	})
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// asConflict reports that parameters and schema no longer match, or that the schema is invalid.
func asConflict(err error) error {
	if invalid, ok := errors.AsType[*parameters.SchemaError](err); ok {
		return rpc.Detail(http.StatusUnprocessableEntity, "Invalid schema: "+invalid.Reason)
	}
	if invalid, ok := errors.AsType[*parameters.InvalidError](err); ok {
		return rpc.Detail(http.StatusConflict, "Error updating deployment: "+invalid.Error())
	}
	return err
}

// overlay sets the fields of a mask.
func overlay(d *orchv1.Deployment, u *orchv1.DeploymentUpdate, mask []string, now time.Time, newID func() uuid.UUID) error {
	for _, field := range fieldmask.Apply(d, u, mask, "work_pool_name", "work_queue_name") {
		switch field {
		case "schedules":
			if err := reschedule(d, u.GetSchedules(), now, newID); err != nil {
				return err
			}
		case "concurrency_limit":
			d.ConcurrencySlots = u.ConcurrencyLimit
		case "global_concurrency_limit_id":
			d.ConcurrencyLimitId = u.GlobalConcurrencyLimitId
		}
	}
	if err := checkSize(d); err != nil {
		return err
	}
	for _, field := range mask {
		switch field {
		case "parameters", "parameter_openapi_schema", "enforce_parameter_schema":
			return asConflict(checkParameters(d))
		}
	}
	return nil
}
