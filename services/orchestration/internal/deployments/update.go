package deployments

import (
	"context"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
)

// UpdateDeployment changes what was sent.
func (s *Service) UpdateDeployment(ctx context.Context, r *orchv1.UpdateDeploymentRequest) (*emptypb.Empty, error) {
	ws, id, err := call.Locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	// A deployment that is not there is told of before what it was to refer to.
	if _, err := s.deployments.Get(ctx, ws, id); err != nil {
		return nil, translate(err)
	}
	if err := s.checkReferences(ctx, ws, r.GetDeployment()); err != nil {
		return nil, err
	}
	of := s.deployments.Store()
	_, err = s.change(ctx, ws, id, func(d *orchv1.Deployment) error {
		return overlay(d, r.GetDeployment(), r.GetUpdateMask().GetPaths(), of.Now(), of.NewID)
	})
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// overlay sets the fields that a mask names. Null clears what may be absent and empties what may not.
func overlay(d *orchv1.Deployment, u *orchv1.DeploymentUpdate, mask []string, now time.Time, newID func() uuid.UUID) error {
	for _, field := range mask {
		switch field {
		case "version":
			d.Version = u.Version
		case "description":
			d.Description = u.Description
		case "parameters":
			d.Parameters = u.GetParameters()
		case "paused":
			d.Paused = u.GetPaused()
		case "schedules":
			if err := reschedule(d, u.GetSchedules(), now, newID); err != nil {
				return err
			}
		case "concurrency_limit":
			d.ConcurrencySlots = u.ConcurrencyLimit
		case "concurrency_options":
			d.ConcurrencyOptions = u.GetConcurrencyOptions()
		case "global_concurrency_limit_id":
			d.ConcurrencyLimitId = u.GlobalConcurrencyLimitId
		case "tags":
			d.Tags = u.GetTags()
		case "work_pool_name", "work_queue_name":
			// Only null comes here: there is no pool to name.
			d.WorkPoolName, d.WorkQueueName, d.WorkQueueId = nil, nil, nil
		case "path":
			d.Path = u.Path
		case "job_variables":
			d.JobVariables = u.GetJobVariables()
		case "pull_steps":
			d.PullSteps = steps(u.GetPullSteps())
		case "entrypoint":
			d.Entrypoint = u.Entrypoint
		case "storage_document_id":
			d.StorageDocumentId = u.StorageDocumentId
		case "infrastructure_document_id":
			d.InfrastructureDocumentId = u.InfrastructureDocumentId
		case "enforce_parameter_schema":
			if u.EnforceParameterSchema != nil {
				d.EnforceParameterSchema = u.GetEnforceParameterSchema()
			}
		case "parameter_openapi_schema":
			d.ParameterOpenapiSchema = u.GetParameterOpenapiSchema()
		}
	}
	for _, field := range mask {
		switch field {
		case "parameters", "parameter_openapi_schema", "enforce_parameter_schema":
			return checkParameters(d)
		}
	}
	return nil
}
