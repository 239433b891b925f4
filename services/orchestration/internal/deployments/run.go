package deployments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// CreateFlowRunFromDeployment creates a run (201), or returns the run with the same flow and idempotency key (200).
func (s *Service) CreateFlowRunFromDeployment(ctx context.Context, r *orchv1.CreateFlowRunFromDeploymentRequest) (*orchv1.FlowRun, error) {
	ws, d, err := s.read(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	run, created, err := s.run(ctx, ws, d, r.GetFlowRun())
	if err != nil || !created {
		return run, err
	}
	return run, rpc.SetStatus(ctx, http.StatusCreated)
}

const (
	// maxBulk bounds the runs of one call.
	maxBulk = 100
	// bulkConcurrency is the number of runs of one call that are created at a time. Concurrent writes have their commits to disk in common.
	bulkConcurrency = 16
)

// CreateFlowRunsFromDeployment creates runs, several at a time. The results have the order of the request. A rejected run does not prevent
// the others.
func (s *Service) CreateFlowRunsFromDeployment(ctx context.Context, r *orchv1.CreateFlowRunsFromDeploymentRequest) (*orchv1.FlowRunBulkCreateResponse, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if len(r.GetFlowRuns()) > maxBulk {
		return nil, rpc.Detail(http.StatusBadRequest, fmt.Sprintf("Cannot create more than %d flow runs at once.", maxBulk))
	}
	d, err := s.deployments.Get(ctx, ws, id)
	if err != nil {
		return nil, translate(err)
	}
	results := make([]*orchv1.FlowRunCreateResult, len(r.GetFlowRuns()))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(bulkConcurrency)
	for i, create := range r.GetFlowRuns() {
		group.Go(func() error {
			run, _, err := s.run(ctx, ws, d, create)
			if err == nil {
				results[i] = &orchv1.FlowRunCreateResult{Status: orchv1.FlowRunCreateStatus_FLOW_RUN_CREATE_STATUS_CREATED, FlowRunId: &run.Id}
				return nil
			}
			reason, refused := refusal(err)
			if !refused {
				return err
			}
			results[i] = &orchv1.FlowRunCreateResult{Status: orchv1.FlowRunCreateStatus_FLOW_RUN_CREATE_STATUS_FAILED, Error: &reason}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return &orchv1.FlowRunBulkCreateResponse{Results: results}, nil
}

// refusal returns the message of a client error; it passes other errors through.
func refusal(err error) (string, bool) {
	e := rpc.HTTPError(err)
	if e.GetStatus() < 400 || e.GetStatus() >= 500 {
		return "", false
	}
	if fieldErrors := e.GetFieldErrors().GetErrors(); len(fieldErrors) > 0 {
		return fieldErrors[0].GetMsg(), true
	}
	return e.GetDetail() + e.GetExceptionMessage(), true
}

// run creates one run of a deployment.
func (s *Service) run(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment, create *orchv1.DeploymentFlowRunCreate) (*orchv1.FlowRun, bool, error) {
	at, err := s.queueOfRun(ctx, ws, d, create)
	if err != nil {
		return nil, false, err
	}
	params, err := s.parameters(ctx, ws, d, create)
	if err != nil {
		return nil, false, err
	}
	run := &orchv1.FlowRunCreate{
		Name:                     create.GetName(),
		FlowId:                   d.GetFlowId(),
		DeploymentId:             &d.Id,
		Parameters:               params,
		Context:                  create.GetContext(),
		ParentTaskRunId:          create.ParentTaskRunId,
		InfrastructureDocumentId: create.InfrastructureDocumentId,
		EmpiricalPolicy:          create.GetEmpiricalPolicy(),
		Tags:                     union(create.GetTags(), d.GetTags()),
		IdempotencyKey:           create.IdempotencyKey,
		Labels:                   &orchv1.Labels{Values: s.runs.LabelsOf(d, nil)},
		JobVariables:             create.GetJobVariables(),
		State:                    create.GetState(),
		WorkQueueName:            at.WorkQueueName,
	}
	if run.InfrastructureDocumentId == nil {
		run.InfrastructureDocumentId = d.InfrastructureDocumentId
	}
	maps.Copy(run.Labels.Values, create.GetLabels().GetValues())
	if run.State == nil {
		run.State = &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_SCHEDULED}
	}
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, false, err
	}
	return s.runs.Create(ctx, ws, flowruns.Creation{
		Run: run, DeploymentVersion: d.Version, WorkQueueID: at.WorkQueueId, WorkPoolID: at.WorkPoolId, WorkPoolName: at.WorkPoolName,
		CreatedBy: flowruns.CreatedBy(info),
	})
}

// union returns the distinct tags of both lists in the order of their first occurrence.
func union(a, b []string) []string {
	var tags []string
	for _, tag := range slices.Concat(a, b) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// parameters merges the request's parameters over the deployment's, hydrates them and validates them.
func (s *Service) parameters(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment, create *orchv1.DeploymentFlowRunCreate) ([]byte, error) {
	params, err := s.hydrated(ctx, ws, d.GetParameters(), create)
	if err != nil {
		return nil, err
	}
	enforce := d.GetEnforceParameterSchema()
	if create.EnforceParameterSchema != nil {
		enforce = create.GetEnforceParameterSchema()
	}
	if !enforce || len(d.GetParameterOpenapiSchema()) == 0 {
		return params, nil
	}
	schema, err := parameters.CompileSchema(d.GetParameterOpenapiSchema(), false)
	if err == nil {
		err = schema.Validate(params)
	}
	var invalid *parameters.InvalidError
	if errors.As(err, &invalid) || errors.Is(err, parameters.ErrSchema) {
		return nil, rpc.Detail(http.StatusConflict, "Error creating flow run: "+err.Error())
	}
	return params, err
}

// CheckParameters refuses parameters that, merged over the parameters of a deployment, its flow does not accept.
func (s *Service) CheckParameters(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment, given []byte) error {
	_, err := s.parameters(ctx, ws, d, &orchv1.DeploymentFlowRunCreate{Parameters: given})
	return err
}

// hydrated merges and hydrates. Final parameters may hold data of strangers, so only the deployment's own markers are replaced.
func (s *Service) hydrated(ctx context.Context, ws uuid.UUID, own []byte, create *orchv1.DeploymentFlowRunCreate) ([]byte, error) {
	combine := parameters.Merge
	if create.GetFinalParameters() {
		combine = parameters.Without
	}
	params, err := combine(own, create.GetParameters())
	if err != nil {
		return nil, err
	}
	if params, err = s.hydrator.Hydrate(ctx, ws, params); err != nil {
		return nil, notHydrated("flow run", err)
	}
	if !create.GetFinalParameters() {
		return params, nil
	}
	return parameters.Merge(params, create.GetParameters())
}

// notHydrated turns a hydration error into a status error; it passes other errors through.
func notHydrated(whose string, err error) error {
	if refused, ok := errors.AsType[*parameters.HydrationError](err); ok {
		return rpc.Detail(http.StatusBadRequest, fmt.Sprintf("Error hydrating %s parameters: %s", whose, refused))
	}
	return err
}
