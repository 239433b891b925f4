package deployments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// createRequest is a requested deployment, validated as far as that needs no stored data.
type createRequest struct {
	create *orchv1.DeploymentCreate
	// mask names the fields of the request.
	mask []string
	// labels are the flow's, the server's and the client's own.
	labels map[string]*orchv1.Scalar
	now    time.Time
	newID  func() uuid.UUID
	// by is the automation that sends the request, or nil.
	by *orchv1.CreatedBy
	// queue is the queue of the runs.
	queue queueRef
}

// allFields is the mask of all fields.
var allFields = func() []string {
	fields := (&orchv1.DeploymentCreate{}).ProtoReflect().Descriptor().Fields()
	names := make([]string, fields.Len())
	for i := range names {
		names[i] = string(fields.Get(i).Name())
	}
	return names
}()

// prepare checks the references of a deployment.
func (s *Service) prepare(ctx context.Context, ws uuid.UUID, create *orchv1.DeploymentCreate, mask []string) (*createRequest, error) {
	flowID, err := resourceid.Parse(create.GetFlowId())
	if err != nil {
		return nil, err
	}
	flow, err := s.flows.Get(ctx, ws, flowID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("create a deployment of a flow that does not exist: %w", store.ErrDuplicate)
	}
	if err != nil {
		return nil, err
	}
	if err := s.checkReferences(ctx, ws, create); err != nil {
		return nil, err
	}
	at, err := s.findQueue(ctx, ws, create, mask, nil)
	if err != nil {
		return nil, err
	}
	if err := s.runs.CheckOrder(create.GetLabels().GetValues(), create.GetJobVariables()); err != nil {
		return nil, err
	}
	if len(create.GetJobVariables()) > 0 && at.pool != nil {
		if err := s.pools.CheckJobVariables(at.pool, "creating deployment", false, create.GetJobVariables()); err != nil {
			return nil, err
		}
	}
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	db := s.deployments.Store()
	a := &createRequest{
		create: create, mask: mask, labels: map[string]*orchv1.Scalar{}, now: db.Now(), newID: db.NewID, by: flowruns.CreatedBy(info), queue: at,
	}
	maps.Copy(a.labels, flow.GetLabels().GetValues())
	a.labels[s.vocab.Name("flow", "id")] = &orchv1.Scalar{Kind: &orchv1.Scalar_StringValue{StringValue: flow.GetId()}}
	maps.Copy(a.labels, create.GetLabels().GetValues())
	return a, nil
}

// references are the resources that a deployment may refer to; nil is no reference.
type references interface {
	GetConcurrencyLimit() int64
	GetGlobalConcurrencyLimitId() string
	GetInfrastructureDocumentId() string
	GetStorageDocumentId() string
}

// checkReferences refuses a deployment that refers to a missing document, or to two limits.
func (s *Service) checkReferences(ctx context.Context, ws uuid.UUID, r references) error {
	if r.GetConcurrencyLimit() != 0 && r.GetGlobalConcurrencyLimitId() != "" {
		return rpc.Invalid(rpc.BodyError("value_error",
			"Value error, A deployment cannot have both a concurrency limit and a global concurrency limit."))
	}
	if err := s.checkBlock(ctx, ws, "infrastructure", r.GetInfrastructureDocumentId()); err != nil {
		return err
	}
	if err := s.checkBlock(ctx, ws, "storage", r.GetStorageDocumentId()); err != nil {
		return err
	}
	if r.GetGlobalConcurrencyLimitId() == "" {
		return nil
	}
	id, err := uuid.Parse(r.GetGlobalConcurrencyLimitId())
	if err != nil {
		return fmt.Errorf("parse concurrency limit id: %w", err)
	}
	limit, err := s.limit(ctx, ws, id)
	if err == nil && limit == nil {
		return rpc.Detail(http.StatusNotFound, "Concurrency limit not found")
	}
	return err
}

// checkBlock rejects an unknown block; an empty id is no reference.
func (s *Service) checkBlock(ctx context.Context, ws uuid.UUID, use, id string) error {
	if id == "" {
		return nil
	}
	parsed, err := resourceid.Parse(id)
	if err != nil {
		return err
	}
	there, err := s.block(ctx, ws, parsed)
	if err == nil && !there {
		return rpc.Detail(http.StatusConflict, fmt.Sprintf(
			"Error creating deployment. Could not find %s block with id: %s. "+
				"This usually occurs when applying a deployment specification that was built against a different database or workspace.", use, id))
	}
	return err
}

// apply writes the request's fields into a deployment.
func (a *createRequest) apply(d *orchv1.Deployment) error {
	c := a.create
	if a.by != nil {
		d.UpdatedBy = &orchv1.UpdatedBy{Id: a.by.Id, Type: a.by.Type, DisplayValue: a.by.DisplayValue}
	}
	for _, field := range fieldmask.Apply(d, c, a.mask, "work_pool_name", "work_queue_name") {
		switch field {
		case "concurrency_limit":
			d.ConcurrencySlots = c.ConcurrencyLimit
		case "global_concurrency_limit_id":
			d.ConcurrencyLimitId = c.GlobalConcurrencyLimitId
		}
	}
	a.queue.apply(d)
	if slices.Contains(a.mask, "labels") || len(d.GetLabels()) == 0 {
		d.Labels = a.labels
	}
	if err := a.schedule(d); err != nil {
		return err
	}
	if err := checkSize(d); err != nil {
		return err
	}
	// Without this flag the parameters are validated when runs are created.
	if !slices.Contains(a.mask, "enforce_parameter_schema") {
		return nil
	}
	err := checkParameters(d)
	if invalid, ok := errors.AsType[*parameters.SchemaError](err); ok {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, "+invalid.Error(), "parameter_openapi_schema"))
	}
	if invalid, ok := errors.AsType[*parameters.InvalidError](err); ok {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, "+invalid.Error(), "parameters"))
	}
	return err
}

// checkSize rejects parameters that are too large for a run.
func checkSize(d *orchv1.Deployment) error {
	if len(d.GetParameters()) > parameters.MaxBytes {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, "+parameters.ErrTooLarge.Error(), "parameters"))
	}
	return nil
}

// checkParameters returns a *parameters.InvalidError for parameters that do not match their schema, and a
// *parameters.SchemaError for an invalid schema, if the deployment enforces it. Runs may add missing parameters;
// markers are resolved when a run is created.
func checkParameters(d *orchv1.Deployment) error {
	if !d.GetEnforceParameterSchema() || len(d.GetParameterOpenapiSchema()) == 0 {
		return nil
	}
	schema, err := parameters.CompileSchema(d.GetParameterOpenapiSchema(), true)
	if err != nil {
		return err
	}
	plain, err := parameters.WithoutMarkers(d.GetParameters())
	if err != nil {
		return err
	}
	return schema.Validate(plain)
}
